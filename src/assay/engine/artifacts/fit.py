"""A method's fit on the reference rows, before it sees a sample."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from assay.core.question import Question
from assay.core.records import Kind
from assay.engine.artifacts.artifact import Artifact, Computed, Group, make_key
from assay.engine.artifacts.component import Component
from assay.engine.artifacts.model import Place

if TYPE_CHECKING:
    from assay.engine.artifacts.desk import Desk


@dataclass(frozen=True, eq=False)
class FitArtifact:
    """One fit per model, question, and method up to the parameters that its fit does not read (``after_fit``). It
    depends on no evaluated sample."""

    place: Place
    method: Component
    question: Question

    kind: ClassVar[Kind] = "fit"

    @cached_property
    def key_parts(self) -> dict[str, Any]:
        """The parts that the keys of a method's trials and preparations share."""
        return {
            "model": self.place.model.key,
            "dtype": self.place.dtype,
            "method": self.method.identity,
            "question": self.question.to_json(),
        }

    @cached_property
    def key(self) -> str:
        return make_key("fit", **{**self.key_parts, "method": self.method.fitting.identity})

    @property
    def needs(self) -> tuple[Artifact, ...]:
        return self.place.model.as_need

    @property
    def as_need(self) -> tuple[FitArtifact, ...]:
        """The fit, as a need of this method's trials; empty for a method without one."""
        return (self,) if "fit" in self.method.steps else ()

    @property
    def group(self) -> Group:
        return Group(self.kind, self.method.fitting, (self.place.environment,))

    def compute(self, desk: Desk) -> Computed:
        from assay.engine.artifacts.answer import fit

        method = desk.component(self.method.fitting)
        if not hasattr(method, "fit"):
            return Computed({}, {})  # a combinator around a method without a fit
        setting = desk.setting(self.place.model, self.method.fitting)
        stream = desk.stream("method", self.method.fitting, self.place).for_fit()
        fitted = fit(method, setting, self.question, stream, desk.machine)
        return Computed(desk.arrays(fitted), {"method": str(self.method.fitting)})
