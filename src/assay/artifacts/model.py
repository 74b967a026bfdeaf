"""The trained weights of an environment's model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from assay.artifacts import cache
from assay.artifacts.artifact import Arrays, Artifact, Made, make_key
from assay.artifacts.component import Component
from assay.core.global_streams import lent
from assay.core.records import Kind

if TYPE_CHECKING:
    from assay.artifacts.desk import Desk


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
            self.environment.check()
            return desk.arrays(weights)

        weights = train() if self.environment.spec is None else cache.fetch(self.key, train)
        return Made(weights, {"environment": str(self.environment), "seed": self.seed})
