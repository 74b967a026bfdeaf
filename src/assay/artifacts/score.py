"""What a metric says about a method in an environment: evidence of all blocks and seeds, with an interval.

Blocks are merged, seeds are kept apart, and nothing is averaged over what is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from assay.artifacts.artifact import Artifact, Made, make_key
from assay.artifacts.component import Component
from assay.artifacts.evidence import EvidenceArtifact
from assay.artifacts.outcome import Blocked
from assay.core.drawn import draws_model, identities
from assay.core.evidence import Evidence, Reduce, mean_score, merge
from assay.core.promises import promised_range
from assay.core.protocols import Preparing
from assay.core.records import Kind
from assay.stats.intervals import RESAMPLES, RULE, Interval, interval, mean_axis, mean_curve

if TYPE_CHECKING:
    from assay.artifacts.desk import Desk


@dataclass(frozen=True, eq=False)
class ScoreArtifact:
    """Of ``samples`` samples per seed."""

    metric: Component
    evidence: tuple[tuple[EvidenceArtifact, ...], ...]  # by seed, block by block
    samples: int

    kind: ClassVar[Kind] = "score"

    @cached_property
    def key(self) -> str:
        keys = [[block.key for block in blocks] for blocks in self.evidence]
        rule = [RULE, RESAMPLES]
        return make_key("score", metric=self.metric.identity, evidence=keys, samples=self.samples, rule=rule)

    @property
    def needs(self) -> tuple[Artifact, ...]:
        return tuple(block for blocks in self.evidence for block in blocks)

    def compute(self, desk: Desk) -> Made:
        bad = [record for part in self.needs if (record := desk.records[part.key]).status != "ok"]
        if bad:
            raise Blocked(min(bad, key=lambda record: record.status))  # failures before skips
        metric = desk.component(self.metric)
        environment = desk.component(self.evidence[0][0].trial.place.environment)
        reduce = getattr(metric, "reduce", mean_score)
        per_seed = [merged(desk, blocks).take(slice(0, self.samples)) for blocks in self.evidence]
        # A metric that prepares, as by retraining, does it anew for each seed.
        anew = draws_model(environment) or isinstance(metric, Preparing)
        who = None
        if len(self.evidence) > 1 and not anew:
            seeds = [blocks[0].trial.place.data_seed for blocks in self.evidence]
            who = [identities(environment, range(self.samples), seed) for seed in seeds]
        return reduced(per_seed, reduce, interval(per_seed, reduce, anew, promised_range(metric), who))


def merged(desk: Desk, blocks: Sequence[EvidenceArtifact]) -> Evidence:
    """The evidence of all samples of a seed."""
    return merge([Evidence.from_arrays(desk.load(block)) for block in blocks])


def reduced(per_seed: Sequence[Evidence], reduce: Reduce, found: Interval | None) -> Made:
    scores = [reduce(evidence) for evidence in per_seed]
    drawn = mean_curve(scores)
    arrays: dict[str, Any] = {}
    if drawn is not None:
        arrays = {"curve": drawn[0], "curve_defined": drawn[1], "axis": mean_axis(scores, per_seed[0].axis["curve"])}
    if found is None:
        count, defined = sum(map(len, per_seed)), sum(int(evidence.defined.sum()) for evidence in per_seed)
        nothing: dict[str, Any] = {"value": None, "low": None, "high": None, "per_seed": [], "basis": ""}
        return Made(arrays if defined else {}, {**nothing, "count": count, "defined": defined})
    data = {
        "value": found.value,
        "low": found.low,
        "high": found.high,
        "per_seed": list(found.per_seed),
        "basis": found.basis,
        "count": found.count,
        "defined": found.defined,
        "ceiling": _ceiling(per_seed),
    }
    return Made(arrays, data)


def _ceiling(per_seed: Sequence[Evidence]) -> float | None:
    """The mean of what samples allow at best, where the metric tells it (row ``ceiling``), over those that count."""
    if not all("ceiling" in evidence.rows for evidence in per_seed):
        return None
    return float(np.concatenate([evidence["ceiling"][evidence.defined] for evidence in per_seed]).mean())
