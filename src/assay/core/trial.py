"""A trial: an attribution together with everything that a metric may need to judge it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import torch
from torch import Generator, Tensor

from assay.core.errors import BadAttribution, NotApplicable
from assay.core.features import Features
from assay.core.machine import Machine
from assay.core.map_grid import MapGrid
from assay.core.query import Query
from assay.core.question import BASELINES, Question
from assay.core.rng import Draws, Stream, generator
from assay.core.setting import Samples, Setting, Truth
from assay.core.spec import Value

GIVEN = "needs to ask the method again, and this attribution was given as numbers"


@dataclass(frozen=True, eq=False)
class Scene:
    """Samples in their setting, before any attribution: what a probe sees."""

    setting: Setting
    samples: Samples
    question: Question  # the question that the method answers; metrics may ask others
    target: Tensor  # (B,) the explained class
    stream: Stream  # what a metric's random numbers depend on besides the sample; never the method
    machine: Machine = Machine()

    def ask(self, question: Question = Question(), baseline: str | float | None = None) -> Query:
        """A query about these samples; fields that ``question`` leaves open come from the environment's question."""
        complete = Question(baseline=baseline).over(question).over(self.setting.question)
        start = baseline_for(self.setting, complete.baseline, self.samples.x)
        indices = self.samples.indices
        return Query(self.setting, complete, self.samples.x, self.target, start, indices, self.stream, {}, self.machine)

    @property
    def truth(self) -> Truth:
        """The truth about these samples, or NotApplicable."""
        if self.samples.truth is None:
            raise NotApplicable("needs known truth, and this environment has none")
        return self.samples.truth

    @property
    def effect(self) -> Tensor:
        """True effects (B, *features) on the explained number, or NotApplicable."""
        return self.truth.of(self.question.readout)

    def draws(self, purpose: str) -> Draws:
        return self.stream.draws(purpose, self.samples.indices)

    def generator(self, purpose: str) -> Generator:
        return self.stream.generator(purpose)


class Explain(Protocol):
    """The method of a trial with its question, for further calls."""

    def __call__(self, x: Tensor, target: Tensor, setting: Setting, samples: Sequence[int] | None = None) -> Tensor:
        """The attribution of ``x``; ``samples``: which sample each of its rows was made from, by position."""

    def with_choice(self, parameter: str, value: Value) -> Explain:
        """The same with another value of one of the method's parameters, or of a field of its question."""


@dataclass(frozen=True, eq=False)
class Trial:
    """An attribution of a block of samples."""

    scene: Scene
    attribution: Tensor  # raw and signed, as the method returned it
    probe: Mapping[str, Tensor] = field(default_factory=dict)  # what the metric's probe() returned
    prepared: Mapping[str, Tensor] = field(default_factory=dict)  # what the metric's prepare() returned
    explain: Explain | None = None  # None where the attribution was given as numbers
    resolution: Tensor | None = None  # (B, *features): eps times the sizes of the summed terms, if reported
    grid: MapGrid | None = None  # what the map is made of, if reported

    @cached_property
    def map(self) -> Tensor:
        """The attribution per feature (B, *features): the sum over a feature's entries."""
        return per_feature(self.attribution, self.scene.setting.features)

    @property
    def effect(self) -> Tensor:
        return self.scene.effect

    def again(
        self,
        x: Tensor | None = None,
        target: Tensor | None = None,
        setting: Setting | None = None,
        samples: Sequence[int] | None = None,
    ) -> Tensor:
        """The method's raw attribution of other inputs, other classes or another model.

        ``x`` (K * B, *entries) may hold every sample K times; then ``target`` has shape (K * B,), too. With
        ``samples``, the position of the sample that each row was made from, ``x`` may have any number of rows. Random
        numbers are those of the first attribution, so that they cannot cause a difference. A method with a fit is
        fitted again to another model.
        """
        if self.explain is None:
            raise NotApplicable(GIVEN)
        x = self.scene.samples.x if x is None else x
        target = self.scene.target.repeat(len(x) // len(self)) if target is None else target
        setting = self.scene.setting if setting is None else setting
        return self.explain(x, target, setting) if samples is None else self.explain(x, target, setting, samples)

    def again_with(self, parameter: str, value: Value) -> Tensor:
        """The method's raw attribution of the same samples with one other choice: a parameter of the method
        (``segments``, ``of.steps``), or a field of its question (``question.baseline``). A method with a fit is fitted
        again. Not applicable where there is no such parameter, and where it has this value.
        """
        if self.explain is None:
            raise NotApplicable(GIVEN)
        return replace(self, explain=self.explain.with_choice(parameter, value)).again()

    def __len__(self) -> int:
        return len(self.scene.samples)


def per_feature(attribution: Tensor, features: Features) -> Tensor:
    """(B, *entries), (B, *features) or (B, 1, *features) -> (B, *features)."""
    if tuple(attribution.shape[1:]) == features.entries:
        return features.pool(attribution)
    return attribution.reshape(len(attribution), *features.shape)


def check_attribution(attribution: object, x: Tensor, features: Features) -> Tensor:
    """The attribution, detached, in the input's number format; BadAttribution says what is wrong."""
    if not isinstance(attribution, Tensor):
        raise BadAttribution(f"returned {type(attribution).__name__}, not a torch.Tensor")
    shapes = {tuple(x.shape), (len(x), *features.shape), (len(x), 1, *features.shape)}
    if tuple(attribution.shape) not in shapes:
        raise BadAttribution(
            f"returned shape {tuple(attribution.shape)} for input {tuple(x.shape)}; "
            f"expected the input's shape or one number per feature, {(len(x), *features.shape)}"
        )
    if attribution.is_complex():
        raise BadAttribution("returned complex numbers")
    attribution = attribution.detach().to(x.dtype)
    finite = torch.isfinite(attribution).flatten(1).all(dim=1)
    if not bool(finite.all()):
        bad = int((~finite).sum())
        raise BadAttribution(f"returned NaN or infinite values in {bad} of {len(x)} samples")
    return attribution


def baseline_for(setting: Setting, name: str | float | None, x: Tensor) -> Tensor:
    """The named baseline, in the shape of ``x``."""
    match name:
        case None | "zero":
            return torch.zeros_like(x)
        case "true":
            if setting.background is None:
                raise NotApplicable("the true baseline is not known in this environment")
            return setting.background.expand_as(x)
        case "mean":
            if setting.reference is None:
                raise NotApplicable("the mean baseline needs reference data, and this environment has none")
            return setting.reference.x.mean(dim=0).expand_as(x)
        case "uniform":
            # One picture of U(-1, 1) noise, the same for every sample, method and metric, so that all use one baseline.
            noise = torch.rand(setting.features.entries, generator=generator("uniform baseline"), dtype=torch.float64)
            return (2 * noise - 1).to(x).expand_as(x)
        case float() | int():
            return torch.full_like(x, float(name))
    raise ValueError(f"unknown baseline or canvas {name!r}: write {', '.join(BASELINES)} or a number")


def targets_for(setting: Setting, question: Question, samples: Samples, machine: Machine = Machine()) -> Tensor:
    """The class each sample is asked about."""
    x, label = samples.x, samples.label
    if question.target != "predicted":
        return label if samples.target is None else samples.target
    raw_outputs = Question(readout="value", temperature=1.0, baseline="zero", target="label")
    query = Query(setting, raw_outputs, x, label, x, tuple(range(len(x))), Stream("targets"), {}, machine)
    return query.outputs(x).argmax(dim=-1)
