"""A metric's preparation on a method's attribution of the reference rows, before it judges a block."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from assay.core.records import Kind
from assay.engine.artifacts.artifact import Artifact, Computed, Group, make_key
from assay.engine.artifacts.component import Component
from assay.engine.artifacts.trial import TrialArtifact

if TYPE_CHECKING:
    from assay.engine.artifacts.desk import Desk


@dataclass(frozen=True, eq=False)
class PreparedArtifact:
    """One preparation per method: retraining, for example."""

    trial: TrialArtifact  # any trial of the method at this place: the block does not matter
    metric: Component

    kind: ClassVar[Kind] = "prepared"

    @cached_property
    def key(self) -> str:
        return make_key("prepared", **self.trial.fit.key_parts, metric=self.metric.identity)

    @property
    def needs(self) -> tuple[Artifact, ...]:
        return self.trial.needs

    @property
    def group(self) -> Group:
        return Group(self.kind, self.metric, (self.trial.place.environment, self.trial.method))

    def compute(self, desk: Desk) -> Computed:
        from assay.engine.artifacts.answer import prepare, reference_samples
        from assay.engine.artifacts.cache import resumable

        trial, metric = self.trial, desk.component(self.metric)
        setting = desk.setting(trial.place.model, trial.method)
        rows = reference_samples(setting, "prepare")
        # Like a fit, it sees no evaluated sample, so its random numbers do not depend on the data seed.
        scene = desk.scene(trial.place, rows, trial.question, self.metric)
        scene = replace(scene, stream=scene.stream.before_samples())
        query = trial.query(desk, setting, rows)
        query = replace(query, stream=query.stream.before_samples())
        with resumable(self.key):
            prepared = prepare(metric, desk.component(trial.method), query, scene)
        return Computed(desk.arrays(prepared), {"metric": str(self.metric), "method": str(trial.method)})
