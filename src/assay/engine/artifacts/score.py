"""The score of a method by a metric in an environment: evidence of all blocks and seeds, reduced, with an interval.

Blocks are merged and seeds are kept apart. Where evidence is missing, there is no score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from assay.core.evidence import Array, Evidence, Reduce, Score, mean_score, merge
from assay.core.facts import draws_model, fact, identities, promised_range
from assay.core.records import Kind
from assay.engine.artifacts.artifact import Artifact, Computed, Group, make_key
from assay.engine.artifacts.component import Component
from assay.engine.artifacts.evidence import EvidenceArtifact, make_evidence
from assay.engine.artifacts.outcome import Blocked
from assay.engine.artifacts.trial import TrialArtifact
from assay.stats.damage import seed_curves
from assay.stats.intervals import RESAMPLES, RULE, interval, mean_axis, mean_curve
from assay.stats.units import score_units

if TYPE_CHECKING:
    from assay.engine.artifacts.desk import Desk


@dataclass(frozen=True, eq=False)
class ScoreArtifact:
    """The score over ``samples`` samples per seed."""

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

    @property
    def group(self) -> Group:
        environment = self.evidence[0][0].trial.place.environment
        return Group(self.kind, self.metric, (environment,), self.samples * len(self.evidence))

    def compute(self, desk: Desk) -> Computed:
        unsuccessful = [record for part in self.needs if (record := desk.records[part.key]).status != "ok"]
        if unsuccessful:
            raise Blocked(min(unsuccessful, key=lambda record: record.status))  # failures before skips
        metric = desk.component(self.metric)
        environment = desk.component(self.evidence[0][0].trial.place.environment)
        reduce = getattr(metric, "reduce", mean_score)
        per_seed = [seed_evidence(desk, blocks).take(slice(0, self.samples)) for blocks in self.evidence]
        # A metric that prepares (by retraining, for example) does so anew for each seed.
        new_model_per_seed = draws_model(environment) or "prepare" in self.metric.steps
        sample_identities = None
        if len(self.evidence) > 1 and not new_model_per_seed:
            seeds = [blocks[0].trial.place.data_seed for blocks in self.evidence]
            sample_identities = [identities(environment, range(self.samples), seed) for seed in seeds]
        yes_or_no = bool(fact(metric, "yes_or_no", False))
        estimate = interval(
            per_seed, reduce, new_model_per_seed, promised_range(metric), sample_identities, yes_or_no=yes_or_no
        )
        score = with_curve(estimate or _undefined(per_seed), per_seed, reduce)
        alone = [with_curve(Score(None), [evidence], reduce) for evidence in per_seed]
        curves = {**_curve_arrays(score), **seed_curves(alone)}
        if estimate is None:
            return Computed(curves if score.defined else {}, score.data)
        units = score_units(per_seed, estimate.per_seed, reduce, new_model_per_seed, sample_identities)
        score = replace(score, ceiling=_ceiling(per_seed), unit=units.unit)
        return Computed({**curves, **units.arrays}, score.data)


def make_score(metric: Component, trials: Sequence[Sequence[TrialArtifact]], samples: int) -> ScoreArtifact:
    """The score of a metric over trials: by seed, block by block."""
    return ScoreArtifact(
        metric, tuple(tuple(make_evidence(trial, metric) for trial in blocks) for blocks in trials), samples
    )


def seed_evidence(desk: Desk, blocks: Sequence[EvidenceArtifact]) -> Evidence:
    """The evidence of all samples of one seed."""
    return merge([Evidence.from_arrays(desk.load(block)) for block in blocks])


def with_curve(score: Score, per_seed: Sequence[Evidence], reduce: Reduce) -> Score:
    """The score with the mean of its seeds' curves, if the metric has curves."""
    scores = [reduce(evidence) for evidence in per_seed]
    curve_and_mask = mean_curve(scores)
    if curve_and_mask is None:
        return score
    curve, defined = curve_and_mask
    return replace(score, curve=curve, curve_defined=defined, at=mean_axis(scores, per_seed[0].axis["curve"]))


def _curve_arrays(score: Score) -> dict[str, Array]:
    arrays = {"curve": score.curve, "curve_defined": score.curve_defined, "axis": score.at}
    return {name: array for name, array in arrays.items() if array is not None}


def _undefined(per_seed: Sequence[Evidence]) -> Score:
    return Score(None, sum(map(len, per_seed)), sum(int(evidence.defined.sum()) for evidence in per_seed))


def _ceiling(per_seed: Sequence[Evidence]) -> float | None:
    """The mean of the best possible values (row ``ceiling``) over defined samples; None for metrics without it."""
    if not all("ceiling" in evidence.rows for evidence in per_seed):
        return None
    return float(np.concatenate([evidence["ceiling"][evidence.defined] for evidence in per_seed]).mean())
