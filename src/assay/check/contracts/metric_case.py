"""A metric at a site, and the maps it judges there, set up for its contracts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from assay.check.contracts.fault import Fault, Unanswered
from assay.check.instruments.compare import differing_evidence, listed_samples
from assay.check.instruments.process_state import process_state_restored
from assay.check.instruments.sites import Site
from assay.check.instruments.snapshot import changed_parts, snapshot
from assay.check.linear import maps
from assay.core.errors import NotApplicable
from assay.core.evidence import Evidence, Score, mean_score
from assay.core.facts import fact
from assay.core.machine import Machine
from assay.core.query import Query
from assay.core.question import Question
from assay.core.rng import Draws, Stream
from assay.core.trial import Scene, Trial, targets_for
from assay.engine.artifacts.answer import make_trial
from assay.foreign.metrics import Numbers

FEW_INDICES = tuple(range(8))
MANY_INDICES = tuple(range(40))  # two blocks of 16 and a shorter one
TOLERANCE = 1e-4  # relative and absolute: answers of float32 models, through a correlation
GRAIN = 64  # values are multiples of 1/64: shifts and cubes are exact, and some values tie


@dataclass(frozen=True, eq=False)
class MetricCase:
    """A metric at a site."""

    target: str
    metric: Any
    origin: Site
    _plain: dict[tuple[int, ...], Evidence | Exception] = field(default_factory=dict)  # shared by fresh cases

    @property
    def name(self) -> str:
        return f"{self.target} at {self.origin.name}"

    @cached_property
    def site(self) -> Site:
        """The site with a copy of its model, which only this case uses."""
        return self.origin.fresh()

    def fresh(self) -> MetricCase:
        return replace(self)

    def fault(self, contract: Callable[..., object], message: str, witness: str = "") -> Fault:
        return Fault(contract.__name__, self.name, message, witness)

    def scene(self, rows: Sequence[int], machine: Machine = Machine()) -> Scene:
        samples, setting = self.site.rows(rows), self.site.setting
        question = Question().over(setting.question)
        target = targets_for(setting, question, samples, machine)
        return Scene(setting, samples, question, target, Stream("metric", self.target, self.origin.name), machine)

    def trial(self, rows: Sequence[int], machine: Machine = Machine()) -> Trial:
        """A trial of random numbers, in the input's shape."""
        scene = self.scene(rows, machine)
        return self.trial_of(scene, noise(scene, scene.setting.features.entries))

    def trial_of(self, scene: Scene, attribution: Tensor) -> Trial:
        """A trial of this map with everything that the metric needs; ``scaled_difference`` stands for the method.

        The method has the default budget: rounding in its answers is no fault of the metric.
        """
        query = replace(scene.ask(), stream=Stream("method", "check", self.origin.name), machine=Machine())
        return make_trial(self.metric, scaled_difference, query, scene, attribution)

    def plain(self, rows: Sequence[int]) -> Evidence:
        """The evidence that others are compared with; raises Unanswered in place of errors other than NotApplicable.

        Computed once for all contracts, on a model of its own.
        """
        known = tuple(rows)
        if known not in self._plain:
            with process_state_restored():
                try:
                    self._plain[known] = self.fresh().evidence(rows)
                except Exception as error:
                    self._plain[known] = error
        evidence = self._plain[known]
        if isinstance(evidence, NotApplicable):
            raise evidence
        if isinstance(evidence, Exception):
            raise Unanswered from evidence
        return evidence

    def evidence(self, rows: Sequence[int], machine: Machine = Machine()) -> Evidence:
        evidence: Evidence = self.metric(self.trial(rows, machine))
        return evidence

    def judge(self, scene: Scene, attribution: Tensor) -> Evidence:
        evidence: Evidence = self.metric(self.trial_of(scene, attribution))
        return evidence

    def reduce(self, evidence: Evidence) -> Score:
        reduce: Callable[[Evidence], Score] = getattr(self.metric, "reduce", mean_score)
        return reduce(evidence)

    def errors(self) -> Iterator[tuple[Exception, str]]:
        """What is raised, if anything."""
        try:
            self.evidence(FEW_INDICES)
        except Exception as error:
            yield error, ""

    def arrays(self) -> Iterator[tuple[str, Numbers, str]]:
        """The arrays of the evidence, and what was judged."""
        for name, array in self.plain(FEW_INDICES).rows.items():
            yield name, array.astype(np.float64), f"'{name}'"

    def model_changes(self) -> Iterator[tuple[list[str], str]]:
        """Changed parts of the model."""
        self.plain(FEW_INDICES)
        before = snapshot(self.site.setting.model)
        self.evidence(FEW_INDICES)
        yield changed_parts(before, snapshot(self.site.setting.model)), ""

    @property
    def invariant(self) -> tuple[str, ...]:
        """Declared invariances; none for metrics that ask the method again, ask another model or prepare on other rows:
        they judge more than one map."""
        needs = fact(self.metric, "needs", ())
        several = "method" in needs or "sibling" in needs or hasattr(self.metric, "prepare")
        return () if several else tuple(fact(self.metric, "invariant", ()))

    def variances(self, kind: str) -> Iterator[str]:
        """Maps that a metric with this invariance must not tell apart, and does."""
        self.plain(FEW_INDICES)
        scene = self.scene(FEW_INDICES)
        start = (noise(scene, scene.setting.features.shape) * GRAIN).round() / GRAIN
        plain = _compared_rows(self.judge(scene, start))
        for name, variant in maps.equivalent(start, kind).items():
            for samples in differing_evidence(plain, _compared_rows(self.judge(scene, variant)), TOLERANCE).values():
                yield f"{name}, {listed_samples(samples)}"

    @property
    def one_by_one(self) -> MetricCase:
        """One map per call, as always at a site."""
        return self

    def reason(self) -> str:
        """Why the metric does not apply at this site; empty if it does."""
        try:
            self.plain(FEW_INDICES)
        except NotApplicable as error:
            return str(error)
        return ""


def _compared_rows(evidence: Evidence) -> Evidence:
    """Values and where they are defined, without other arrays; all arrays of a set-level metric."""
    compared = ("value", "defined") if "value" in evidence.rows else tuple(evidence.rows)
    return Evidence({name: array for name, array in evidence.rows.items() if name in compared})


def scaled_difference(query: Query) -> Tensor:
    """A method that applies to every model: the input minus the baseline, times the explained number."""
    return (query.x - query.baseline) * query.score(query.x).view(-1, *[1] * (query.x.dim() - 1))


def noise(scene: Scene, shape: Sequence[int]) -> Tensor:
    """Standard normal numbers that depend only on the index of each sample."""
    draws = Draws([("check", "noise", index) for index in scene.samples.indices])
    return draws.normal(*shape).to(scene.samples.x)


def uninformative_maps(scene: Scene) -> dict[str, Tensor]:
    """Constant maps."""
    like = noise(scene, scene.setting.features.shape)
    return {"zeros": torch.zeros_like(like), "ones": torch.ones_like(like), "minus ones": -torch.ones_like(like)}
