"""What a metric asks the model and no attribution changes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from assay.artifacts.artifact import Artifact, Block, Made, make_key
from assay.artifacts.component import Component
from assay.artifacts.model import Place
from assay.core.question import Question
from assay.core.records import Kind

if TYPE_CHECKING:
    from assay.artifacts.desk import Desk


@dataclass(frozen=True, eq=False)
class ProbeArtifact:
    """Computed once per block, shared by all methods."""

    place: Place
    metric: Component
    target: str | None  # which class methods are asked about: all that a probe knows of their question
    block: Block

    kind: ClassVar[Kind] = "probe"

    @cached_property
    def key(self) -> str:
        place, block = self.place, self.block.to_json()
        parts = {"model": place.model.key, "data": place.data_key, "dtype": place.dtype}
        return make_key("probe", **parts, metric=self.metric.identity, target=self.target, block=block)

    @property
    def needs(self) -> tuple[Artifact, ...]:
        return self.place.model.stored

    def compute(self, desk: Desk) -> Made:
        samples = desk.samples(self.place, self.block)
        scene = desk.scene(self.place, samples, Question(target=self.target), self.metric)
        found = desk.component(self.metric).probe(scene)
        return Made(desk.arrays(found), {"metric": str(self.metric), "block": self.block.to_json()})
