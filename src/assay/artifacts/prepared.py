"""What a metric finds in a method's attribution of the reference rows, before it judges a block."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from assay.artifacts.artifact import Artifact, Made, make_key
from assay.artifacts.asking import prepare, reference_samples
from assay.artifacts.cache import resumable
from assay.artifacts.component import Component
from assay.artifacts.trial import TrialArtifact
from assay.core.records import Kind

if TYPE_CHECKING:
    from assay.artifacts.desk import Desk


@dataclass(frozen=True, eq=False)
class PreparedArtifact:
    """Once per method: retraining, for example."""

    trial: TrialArtifact  # any of the method's at this place: its block does not matter
    metric: Component

    kind: ClassVar[Kind] = "prepared"

    @cached_property
    def key(self) -> str:
        return make_key("prepared", **self.trial.fit.asked, metric=self.metric.identity)

    @property
    def needs(self) -> tuple[Artifact, ...]:
        return self.trial.needs

    def compute(self, desk: Desk) -> Made:
        trial, metric = self.trial, desk.component(self.metric)
        setting = desk.setting(trial.place.model, trial.method)
        rows = reference_samples(setting, "prepare")
        # Like a fit, it sees no evaluated sample: its random numbers know no data seed.
        scene = desk.scene(trial.place, rows, trial.question, self.metric)
        scene = replace(scene, stream=scene.stream.before_samples())
        query = trial.query(desk, setting, rows)
        query = replace(query, stream=query.stream.before_samples())
        with resumable(self.key):
            found = prepare(metric, desk.component(trial.method), query, scene)
        return Made(desk.arrays(found), {"metric": str(self.metric), "method": str(trial.method)})
