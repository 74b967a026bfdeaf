"""What happens to a method: samples become a query, the method answers, the answer is checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, cast

from torch import Tensor

from assay.core.build import is_ours
from assay.core.errors import NotApplicable
from assay.core.features import Features
from assay.core.machine import Machine
from assay.core.protocols import Fitted, Method, Preparing, Probing, Promising
from assay.core.query import Query, Remarks
from assay.core.question import Question
from assay.core.rng import Stream
from assay.core.setting import Samples, Setting
from assay.core.trial import Scene, Trial, baseline_for, check_attribution, per_feature, targets_for


def pose(setting: Setting, samples: Samples, question: Question, stream: Stream, machine: Machine) -> Query:
    """The question about these samples, nothing left open."""
    asked = question.over(setting.question)
    target = targets_for(setting, asked, samples, machine)
    baseline = baseline_for(setting, asked.baseline, samples.x)
    return Query(setting, asked, samples.x, target, baseline, samples.indices, stream, {}, machine)


@dataclass(frozen=True, eq=False)
class Answer:
    """A method's answer, and what it said about it."""

    attribution: Tensor
    notes: Mapping[str, int]  # a few words, and how many of the samples they are about
    resolution: Tensor | None  # (B, *features): eps times the sizes that were added up, where the method says
    promised: Tensor | None = None  # (B,) what the attribution should add up to, where the method says so
    remedy: str = ""  # what to change where it does not, for methods that integrate or sample
    positive_only: bool = False  # the method gives no negative value by design

    @property
    def gap(self) -> Tensor | None:
        """(B,) how far the attribution is from adding up to what was promised."""
        return None if self.promised is None else gap(self.attribution, self.promised)

    def facts(self) -> dict[str, Any]:
        """What a reader of the scores should know, as plain data; nothing where there is nothing to tell."""
        found: dict[str, Any] = {"notes": dict(self.notes)} if self.notes else {}
        if self.promised is not None and self.gap is not None:
            sums = {"promised": float(self.promised.abs().sum()), "gap": float(self.gap.abs().sum())}
            found["completeness"] = {**sums, "remedy": self.remedy}
        return {**found, "positive_only": True} if self.positive_only else found

    def tensors(self) -> dict[str, Tensor]:
        """What is kept of it."""
        found = {"attribution": self.attribution, "resolution": self.resolution, "promised": self.promised}
        return {name: tensor for name, tensor in {**found, "gap": self.gap}.items() if tensor is not None}


def attribute(method: Method, query: Query) -> Tensor:
    """The method's answer alone."""
    return answer(method, query).attribution


def answer(method: Method, query: Query) -> Answer:
    """The method's answer, checked; a copy, because a method may write its next answer into the same tensor."""
    own = _copied(query)
    attribution = check_attribution(method(own), query.x, query.setting.features).clone()
    notes = {text: min(count, len(own.x)) for text, count in own.remarks.notes.items()}
    return Answer(attribution, notes, _resolution(own.remarks, attribution, query.setting.features))


def _copied(query: Query) -> Query:
    """What a method is asked with: copies, so that the next method sees what this one saw; no reference rows, which
    are for ``fit`` alone."""
    x, target, baseline = query.x.clone(), query.target.clone(), query.baseline.clone()
    setting = replace(query.setting, reference=None)
    return replace(query, setting=setting, x=x, target=target, baseline=baseline, remarks=Remarks())


def _resolution(remarks: Remarks, attribution: Tensor, features: Features) -> Tensor | None:
    """Per feature. What a method inside another one said about another map is nothing about this one."""
    stated = remarks.resolution
    if stated is None or stated.shape != attribution.shape:
        return None
    return per_feature(stated.detach(), features)


def answered(method: Method, query: Query) -> Answer:
    """The answer, with what the method promises and declares about it."""
    found = answer(method, query)
    remedy, positive_only = str(getattr(method, "remedy", "")), bool(getattr(method, "positive_only", False))
    return replace(found, promised=promise(method, query), remedy=remedy, positive_only=positive_only)


def promise(method: Method, query: Query) -> Tensor | None:
    """What the attribution should add up to (B,), for methods that say so."""
    if not hasattr(method, "promised"):
        return None
    return cast(Promising, method).promised(_copied(query)).detach().double()


def gap(attribution: Tensor, promised: Tensor) -> Tensor:
    """How far the attribution is from what was promised (B,)."""
    return attribution.double().flatten(1).sum(dim=1) - promised


@dataclass(frozen=True, eq=False)
class Explainer:
    """A method with the query it answered, to be asked again about other inputs, classes or models."""

    method: Method
    query: Query

    def __call__(self, x: Tensor, target: Tensor, setting: Setting) -> Tensor:
        before, copies = self.query, len(x) // len(self.query.x)
        mine = setting if is_ours(self.method) else setting.copied()
        fitted = before.fitted
        if hasattr(self.method, "fit") and setting is not before.setting:
            stream = before.stream.for_fit()
            fitted = fit(cast(Fitted, self.method), mine, before.question, stream, before.machine)
        baseline = baseline_for(setting, before.question.baseline, x)
        query = replace(before, setting=mine, x=x, target=target, baseline=baseline, fitted=fitted)
        return answer(self.method, replace(query, indices=before.indices * copies)).attribution


def explainer(method: Method, query: Query) -> Explainer | None:
    """None for attributions that were given as numbers: nobody can be asked again."""
    return None if _given(method) else Explainer(method, query)


def trial(
    metric: object,
    method: Method,
    query: Query,
    scene: Scene,
    attribution: Tensor,
    probe: Mapping[str, Tensor] | None = None,
) -> Trial:
    """What a metric judges where nothing is an artifact, as in a contract: probe, preparation and all."""
    if probe is None:
        probe = metric.probe(scene) if isinstance(metric, Probing) else {}
    prepared = {}
    if isinstance(metric, Preparing):
        rows = reference_samples(query.setting, "prepare")
        asked = pose(query.setting, rows, query.question, query.stream.before_samples(), query.machine)
        asked = replace(asked, fitted=query.fitted)
        whole = replace(scene, samples=rows, target=asked.target, stream=scene.stream.before_samples())
        prepared = prepare(metric, method, asked, whole)
    return Trial(scene, attribution, probe, prepared, explainer(method, query))


def prepare(metric: Preparing, method: Method, query: Query, scene: Scene) -> dict[str, Tensor]:
    """What the metric finds in the method's attribution of the reference rows; ``query`` and ``scene`` are theirs."""
    if _given(method):
        raise NotApplicable("needs attributions of the reference rows, and those of the samples alone were given")
    return metric.prepare(Trial(scene, answer(method, query).attribution))


def reference_samples(setting: Setting, purpose: str) -> Samples:
    """The reference rows as samples, in tensors of their own."""
    reference = setting.reference
    if reference is None:
        raise NotApplicable(f"needs reference data to {purpose}, and this environment has none")
    return Samples(reference.x, reference.label, None, tuple(range(len(reference.x)))).copy()


def fit(method: Fitted, setting: Setting, question: Question, stream: Stream, machine: Machine) -> dict[str, Tensor]:
    """What the method finds in the reference rows."""
    rows = reference_samples(setting, "fit")
    return method.fit(pose(setting, rows, question, stream, machine))


def _given(method: object) -> bool:
    """True for numbers from a file, also inside a combinator."""
    inside = (getattr(method, field.name) for field in fields(method)) if is_dataclass(method) else ()
    return bool(getattr(method, "given", False)) or any(_given(value) for value in inside if is_dataclass(value))
