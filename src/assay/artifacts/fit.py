"""What a method finds in the reference rows, before it sees a sample."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from assay.artifacts.artifact import Artifact, Made, make_key
from assay.artifacts.asking import fit
from assay.artifacts.component import Component
from assay.artifacts.model import Place
from assay.core.question import Question
from assay.core.records import Kind

if TYPE_CHECKING:
    from assay.artifacts.desk import Desk


@dataclass(frozen=True, eq=False)
class FitArtifact:
    """Once per model, method and question: it depends on no evaluated sample."""

    place: Place
    method: Component
    question: Question

    kind: ClassVar[Kind] = "fit"

    @cached_property
    def asked(self) -> dict[str, Any]:
        """What every key of a method's work has in common."""
        return {
            "model": self.place.model.key,
            "dtype": self.place.dtype,
            "method": self.method.identity,
            "question": self.question.to_json(),
        }

    @cached_property
    def key(self) -> str:
        return make_key("fit", **self.asked)

    @property
    def needs(self) -> tuple[Artifact, ...]:
        return self.place.model.stored

    @property
    def stored(self) -> tuple[FitArtifact, ...]:
        """What whoever asks this method needs: the fit, where there is one."""
        return (self,) if "fit" in self.method.parts else ()

    def compute(self, desk: Desk) -> Made:
        method = desk.component(self.method)
        if not hasattr(method, "fit"):
            return Made({}, {})  # a combinator around a method that fits nothing
        setting = desk.setting(self.place.model, self.method)
        stream = desk.stream("method", self.method, self.place).for_fit()
        found = fit(method, setting, self.question, stream, desk.machine)
        return Made(desk.arrays(found), {"method": str(self.method)})
