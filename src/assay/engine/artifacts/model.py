"""The trained weights of an environment's model, and places: a model with the seed of its samples."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from assay.core.errors import AssayError
from assay.core.facts import draws_rule
from assay.core.records import Kind
from assay.engine.artifacts.artifact import Arrays, Artifact, Block, Computed, Group, make_key
from assay.engine.artifacts.component import Component

if TYPE_CHECKING:
    from assay.engine.artifacts.desk import Desk
    from assay.engine.artifacts.probe import ProbeArtifact


@dataclass(frozen=True, eq=False)
class ModelArtifact:
    """The model of an environment and a seed. Only trained models are stored; others are made where they are used."""

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
    def as_need(self) -> tuple[ModelArtifact, ...]:
        """The model, as a need of artifacts that use it; empty for a model that is not trained."""
        return (self,) if "train" in self.environment.steps else ()

    @property
    def group(self) -> Group:
        return Group(self.kind, self.environment)

    def compute(self, desk: Desk) -> Computed:
        from assay.core.rng import global_streams_restored
        from assay.engine.artifacts import cache

        environment = desk.component(self.environment)

        def train() -> Arrays:
            with global_streams_restored():
                weights = environment.train(self.seed)
            self.environment.check_files()
            return desk.arrays(weights)

        weights = train() if self.environment.spec is None else cache.fetch(self.key, train)
        return Computed(weights, {"environment": str(self.environment), "seed": self.seed})


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
        return {**self.__dict__, "probes": {}}  # pickled without the probes, which hold the whole plan


def make_place(environment: Component, seed: int, data_seed: int, dtype: str = "float32") -> Place:
    if seed != data_seed and draws_rule(environment.build()):
        name = environment.spec.name if environment.spec else environment
        raise AssayError(
            f"{name}: the seed draws the rule or divides the rows, so a model of seed {seed} cannot be tested with "
            f"samples of data_seed {data_seed}: leave data_seed out, or fix what is drawn, as with rule_seed=0 "
            "(tabular_rule) or split_seed=0 (public_table)."
        )
    return Place(ModelArtifact(environment, seed), data_seed, dtype)
