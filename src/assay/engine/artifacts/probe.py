"""A metric's probe: what it needs of the model that no attribution changes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from assay.core.question import Question
from assay.core.records import Kind
from assay.engine.artifacts.artifact import Artifact, Block, Computed, Group, make_key
from assay.engine.artifacts.component import Component
from assay.engine.artifacts.model import Place

if TYPE_CHECKING:
    from assay.engine.artifacts.desk import Desk


@dataclass(frozen=True, eq=False)
class ProbeArtifact:
    """Computed once per block, shared by all methods."""

    place: Place
    metric: Component
    target: str | None  # which class is explained; the only part of the question that a probe depends on
    block: Block

    kind: ClassVar[Kind] = "probe"

    @cached_property
    def key(self) -> str:
        place, block = self.place, self.block.to_json()
        parts = {"model": place.model.key, "data": place.data_key, "dtype": place.dtype}
        return make_key("probe", **parts, metric=self.metric.identity, target=self.target, block=block)

    @property
    def needs(self) -> tuple[Artifact, ...]:
        return self.place.model.as_need

    @property
    def group(self) -> Group:
        return Group(self.kind, self.metric, (self.place.environment,), len(self.block))

    def compute(self, desk: Desk) -> Computed:
        samples = desk.samples(self.place, self.block.indices)
        scene = desk.scene(self.place, samples, Question(target=self.target), self.metric)
        tensors = desk.component(self.metric).probe(scene)
        return Computed(desk.arrays(tensors), {"metric": str(self.metric), "block": self.block.to_json()})
