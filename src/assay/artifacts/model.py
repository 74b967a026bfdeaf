"""The trained weights of an environment's model, and the place that it makes with samples: where methods are asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from assay.artifacts import cache
from assay.artifacts.artifact import Arrays, Artifact, Block, Made, make_key
from assay.artifacts.component import Component
from assay.core.records import Kind
from assay.core.rng import lent

if TYPE_CHECKING:
    from assay.artifacts.desk import Desk
    from assay.artifacts.probe import ProbeArtifact


@dataclass(frozen=True, eq=False)
class ModelArtifact:
    """An environment with its seed. Only trained ones are stored; others are made where they are used."""

    environment: Component
    seed: int

    kind: ClassVar[Kind] = "model"

    @cached_property
    def key(self) -> str:
        return make_key("model", environment=self.environment.identity, seed=self.seed)

    @property
    def needs(self) -> tuple[Artifact, ...]:
        return ()

    @property
    def stored(self) -> tuple[ModelArtifact, ...]:
        """What whoever asks this model needs: the model, where it is trained."""
        return (self,) if "train" in self.environment.parts else ()

    def compute(self, desk: Desk) -> Made:
        environment = desk.component(self.environment)

        def train() -> Arrays:
            with lent():
                weights = environment.train(self.seed)
            self.environment.check_files()
            return desk.arrays(weights)

        weights = train() if self.environment.spec is None else cache.fetch(self.key, train)
        return Made(weights, {"environment": str(self.environment), "seed": self.seed})


@dataclass(frozen=True, eq=False)
class Place:
    """A model, the seed of its samples and the number format. Samples are drawn where they are used."""

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
