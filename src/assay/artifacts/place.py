"""A place: a model, the seed of its samples and the number format, where methods are asked and judged."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from assay.artifacts.artifact import Block, make_key
from assay.artifacts.component import Component
from assay.artifacts.model import ModelArtifact

if TYPE_CHECKING:
    from assay.artifacts.probe import ProbeArtifact


@dataclass(frozen=True, eq=False)
class Place:
    """Samples are drawn where they are used; they are known by environment, seed and block."""

    model: ModelArtifact
    data_seed: int
    dtype: str = "float32"
    probes: dict[tuple[str, str | None, Block], ProbeArtifact] = field(default_factory=dict)  # shared by all methods

    @property
    def environment(self) -> Component:
        return self.model.environment

    @property
    def seed(self) -> int:
        return self.model.seed

    @cached_property
    def data_key(self) -> str:
        return make_key("data", environment=self.environment.identity, seed=self.data_seed)

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "probes": {}}  # another process gets what it needs, not the whole plan


def place(environment: Component, seed: int, data_seed: int, dtype: str = "float32") -> Place:
    return Place(ModelArtifact(environment, seed), data_seed, dtype)
