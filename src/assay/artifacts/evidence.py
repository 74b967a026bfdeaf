"""What a metric finds in one trial."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from assay.artifacts.artifact import Artifact, Made, make_key
from assay.artifacts.asking import explainer
from assay.artifacts.component import Component
from assay.artifacts.prepared import PreparedArtifact
from assay.artifacts.probe import ProbeArtifact
from assay.artifacts.trial import TrialArtifact
from assay.core.evidence import Evidence
from assay.core.records import Kind
from assay.core.trial import Trial

if TYPE_CHECKING:
    from assay.artifacts.desk import Desk


@dataclass(frozen=True, eq=False)
class EvidenceArtifact:
    """Rows per sample, which blocks of samples concatenate."""

    trial: TrialArtifact
    metric: Component
    probe: ProbeArtifact | None = None
    prepared: PreparedArtifact | None = None

    kind: ClassVar[Kind] = "evidence"

    @cached_property
    def key(self) -> str:
        return make_key("evidence", trial=self.trial.key, metric=self.metric.identity)

    @property
    def needs(self) -> tuple[Artifact, ...]:
        again = self.trial.needs if "again" in self.metric.parts else self.trial.place.model.stored
        return (self.trial, *again, *(part for part in (self.probe, self.prepared) if part))

    def compute(self, desk: Desk) -> Made:
        answer, place = desk.tensors(self.trial), self.trial.place
        samples = desk.samples(place, self.trial.block)
        scene = desk.scene(place, samples, self.trial.question, self.metric)
        probe = desk.tensors(self.probe) if self.probe else {}
        prepared = desk.tensors(self.prepared) if self.prepared else {}
        explain = None
        if "again" in self.metric.parts:
            query = self.trial.query(desk, scene.setting, scene.samples)
            explain = explainer(desk.component(self.trial.method), query)
        trial = Trial(scene, answer["attribution"], probe, prepared, explain, answer.get("resolution"))
        evidence = checked(desk.component(self.metric)(trial), len(samples))
        return Made(evidence.to_arrays(), {"metric": str(self.metric), "trial": self.trial.key})


def evidence(trial: TrialArtifact, metric: Component) -> EvidenceArtifact:
    """With the probe and the preparation that the metric has; a probe is shared by all methods."""
    probe = prepared = None
    if "probe" in metric.parts:
        shared, target = trial.place.probes, trial.question.target
        probe = shared.setdefault(
            (metric.identity, target, trial.block), ProbeArtifact(trial.place, metric, target, trial.block)
        )
    if "prepare" in metric.parts:
        prepared = PreparedArtifact(trial, metric)
    return EvidenceArtifact(trial, metric, probe, prepared)


def checked(evidence: Evidence, count: int) -> Evidence:
    """ValueError where rows are missing or no numbers."""
    for name, rows in evidence.rows.items():
        if len(rows) != count:
            raise ValueError(f"the metric returned {len(rows)} rows of '{name}' for {count} samples")
        if not np.isfinite(rows.astype(np.float64)).all():
            raise ValueError(f"the metric returned NaN or infinite values in '{name}'; undefined is defined=False")
    return evidence
