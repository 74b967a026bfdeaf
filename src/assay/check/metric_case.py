"""A metric at a site, the maps it is shown, and the ways to ask it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from assay.artifacts.asking import trial
from assay.check.fault import Fault, Unanswered
from assay.check.site import Site
from assay.core.errors import NotApplicable
from assay.core.evidence import Evidence, Score, mean_score
from assay.core.machine import Machine
from assay.core.query import Query
from assay.core.question import Question
from assay.core.rng import Draws, Stream
from assay.core.trial import Scene, Trial, targets_for

FEW = tuple(range(8))
MANY = tuple(range(40))  # two blocks of 16 and a shorter one


@dataclass(frozen=True, eq=False)
class MetricCase:
    """A metric at a site."""

    target: str
    metric: Any
    site: Site

    @property
    def name(self) -> str:
        return f"{self.target} at {self.site.name}"

    def fresh(self) -> MetricCase:
        return replace(self, site=self.site.fresh())

    def fault(self, contract: Callable[..., object], message: str, witness: str = "") -> Fault:
        return Fault(contract.__name__, self.name, message, witness)

    def scene(self, rows: Sequence[int], machine: Machine = Machine()) -> Scene:
        samples, setting = self.site.rows(rows), self.site.setting
        question = Question().over(setting.question)
        target = targets_for(setting, question, samples, machine)
        return Scene(setting, samples, question, target, Stream("metric", self.target, self.site.name), machine)

    def trial(self, rows: Sequence[int], machine: Machine = Machine()) -> Trial:
        """A map of random numbers, in the input's shape."""
        scene = self.scene(rows, machine)
        return self.about(scene, noise(scene, scene.setting.features.entries))

    def about(self, scene: Scene, attribution: Tensor) -> Trial:
        """A trial of this map with everything that the metric may want; asked again, the method is a difference.

        The method has a budget of its own: a metric is not blamed for the last bits of what it answers.
        """
        query = replace(scene.ask(), stream=Stream("method", "check", self.site.name), machine=Machine())
        return trial(self.metric, differences, query, scene, attribution)

    def plain(self, rows: Sequence[int]) -> Evidence:
        """The evidence that others are compared with; Unanswered where something else than NotApplicable is raised."""
        try:
            evidence: Evidence = self.metric(self.trial(rows))
        except NotApplicable:
            raise
        except Exception as error:
            raise Unanswered from error
        return evidence

    def judge(self, scene: Scene, attribution: Tensor) -> Evidence:
        evidence: Evidence = self.metric(self.about(scene, attribution))
        return evidence

    def reduce(self, evidence: Evidence) -> Score:
        reduce: Callable[[Evidence], Score] = getattr(self.metric, "reduce", mean_score)
        return reduce(evidence)

    def reason(self) -> str:
        """Why the metric does not apply here; empty where it does."""
        case = self.fresh()
        try:
            case.metric(case.trial(FEW))
        except NotApplicable as error:
            return str(error)
        return ""


def differences(query: Query) -> Tensor:
    """A method that any model answers: the input's difference from the baseline, times the explained number."""
    return (query.x - query.baseline) * query.score(query.x).view(-1, *[1] * (query.x.dim() - 1))


def noise(scene: Scene, shape: Sequence[int]) -> Tensor:
    """Standard normal numbers, each sample's own."""
    draws = Draws([("check", "noise", index) for index in scene.samples.indices])
    return draws.normal(*shape).to(scene.samples.x)


def extremes(scene: Scene) -> dict[str, Tensor]:
    """Maps in which there is nothing to tell apart."""
    some = noise(scene, scene.setting.features.shape)
    return {"zeros": torch.zeros_like(some), "ones": torch.ones_like(some), "minus ones": -torch.ones_like(some)}
