"""A metric's evidence about one trial."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from assay.core.evidence import Evidence
from assay.core.records import Kind
from assay.engine.artifacts.artifact import Artifact, Computed, Group, make_key
from assay.engine.artifacts.component import Component
from assay.engine.artifacts.prepared import PreparedArtifact
from assay.engine.artifacts.probe import ProbeArtifact
from assay.engine.artifacts.trial import TrialArtifact

if TYPE_CHECKING:
    from assay.engine.artifacts.desk import Desk


@dataclass(frozen=True, eq=False)
class EvidenceArtifact:
    """One row per sample; the rows of several blocks are concatenated. Metrics that differ only in parameters that
    ``reduce`` alone reads (``after_evidence``) share it."""

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
        again = self.trial.needs if "again" in self.metric.steps else self.trial.place.model.as_need
        return (self.trial, *again, *(part for part in (self.probe, self.prepared) if part))

    @property
    def group(self) -> Group:
        asked_again = (self.trial.method,) if "again" in self.metric.steps else ()
        return Group(self.kind, self.metric, (self.trial.place.environment, *asked_again), len(self.trial.block))

    def compute(self, desk: Desk) -> Computed:
        from assay.core.map_grid import read_grid
        from assay.core.trial import Trial
        from assay.engine.artifacts.answer import make_explainer

        answer, place = desk.tensors(self.trial), self.trial.place
        samples = desk.samples(place, self.trial.block.indices)
        scene = desk.scene(place, samples, self.trial.question, self.metric)
        probe = desk.tensors(self.probe) if self.probe else {}
        prepared = desk.tensors(self.prepared) if self.prepared else {}
        explain = None
        if "again" in self.metric.steps:
            query = self.trial.query(desk, scene.setting, scene.samples)
            explain = make_explainer(desk.component(self.trial.method), query)
        remarks = answer.get("resolution"), read_grid(answer)
        trial = Trial(scene, answer["attribution"], probe, prepared, explain, *remarks)
        evidence = checked_evidence(desk.component(self.metric)(trial), len(samples))
        return Computed(evidence.to_arrays(), {"metric": str(self.metric), "trial": self.trial.key})


def make_evidence(trial: TrialArtifact, metric: Component) -> EvidenceArtifact:
    """The evidence of a metric, with its probe and preparation if it has them. All methods share a probe."""
    metric, probe, prepared = metric.judging, None, None
    if "probe" in metric.steps:
        shared_probes, target = trial.place.probes, trial.question.target
        probe = shared_probes.setdefault(
            (metric.identity, target, trial.block), ProbeArtifact(trial.place, metric, target, trial.block)
        )
    if "prepare" in metric.steps:
        prepared = PreparedArtifact(trial, metric.preparing)
    return EvidenceArtifact(trial, metric, probe, prepared)


def checked_evidence(evidence: Evidence, count: int) -> Evidence:
    """The evidence; raises ValueError where rows are missing or not finite."""
    for name, rows in evidence.rows.items():
        if len(rows) != count:
            raise ValueError(f"the metric returned {len(rows)} rows of '{name}' for {count} samples")
        if not np.isfinite(rows.astype(np.float64)).all():
            raise ValueError(f"the metric returned NaN or infinite values in '{name}'; undefined is defined=False")
    return evidence
