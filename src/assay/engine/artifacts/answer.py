"""Asking a method: samples become a query, the method answers it, the answer is checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, cast

import torch
from torch import Tensor

from assay.catalogue.build import build, describe, is_ours
from assay.catalogue.registry import resolve
from assay.core.errors import BadAttribution, NotApplicable
from assay.core.features import Features
from assay.core.machine import Machine
from assay.core.map_grid import MapGrid
from assay.core.protocols import Fitted, Method, Preparing, Probing, Promising
from assay.core.query import Query, Remarks
from assay.core.question import QUESTION, Question
from assay.core.records import printable
from assay.core.rng import Stream
from assay.core.setting import Samples, Setting
from assay.core.spec import Value
from assay.core.trial import Scene, Trial, baseline_for, check_attribution, per_feature, targets_for
from assay.kit.map_grids import lies_on

_NOTE = 200  # characters that are kept of a note
BOUND = "needs the method for another model, and this explainer was made for one"
ZERO = "0 everywhere"  # the note about attributions that say nothing, whatever their scores


def make_query(setting: Setting, samples: Samples, question: Question, stream: Stream, machine: Machine) -> Query:
    """The query about these samples; the environment's question fills in what ``question`` leaves open."""
    full_question = question.over(setting.question)
    target = targets_for(setting, full_question, samples, machine)
    baseline = baseline_for(setting, full_question.baseline, samples.x)
    query = Query(setting, full_question, samples.x, target, baseline, samples.indices, stream, {}, machine)
    return replace(query, data_rows=samples.data_rows)


@dataclass(frozen=True, eq=False)
class Answer:
    """A method's answer, with the method's remarks about it."""

    attribution: Tensor
    notes: Mapping[str, int]  # a short text, and the number of samples it is about
    resolution: Tensor | None  # (B, *features): eps times the summed magnitudes, where the method states it
    grid: MapGrid | None  # what the map is made of, where the method states it
    promised: Tensor | None = None  # (B,) the sum that the attribution should have, where the method promises one
    remedy: str = ""  # what to change where the gap is large, for methods that integrate or sample
    positive_only: bool = False  # the method returns no negative value by design

    @property
    def gap(self) -> Tensor | None:
        """(B,) the attribution's sum minus the promised sum."""
        return None if self.promised is None else gap(self.attribution, self.promised)

    def facts(self) -> dict[str, Any]:
        """Notes, completeness and sign facts as plain data, for readers of the scores; empty where there are none."""
        facts: dict[str, Any] = {"notes": dict(self.notes)} if self.notes else {}
        if self.promised is not None and self.gap is not None:
            sums = {"promised": float(self.promised.abs().sum()), "gap": float(self.gap.abs().sum())}
            facts["completeness"] = {**sums, "remedy": self.remedy}
        if self.grid is not None:
            facts["grid"] = printable(self.grid.name, _NOTE)
        return {**facts, "positive_only": True} if self.positive_only else facts

    def tensors(self) -> dict[str, Tensor]:
        """The tensors to be stored."""
        tensors = {"attribution": self.attribution, "resolution": self.resolution, "promised": self.promised}
        known = {name: tensor for name, tensor in {**tensors, "gap": self.gap}.items() if tensor is not None}
        return known if self.grid is None else {**known, **self.grid.tensors()}


def attribute(method: Method, query: Query) -> Tensor:
    """The method's attribution without its remarks."""
    return answer(method, query).attribution


def answer(method: Method, query: Query) -> Answer:
    """The method's answer, checked. It is a copy, because a method may reuse the tensor for its next answer."""
    method_query = _copy_for_method(query)
    attribution = check_attribution(method(method_query), query.x, query.setting.features).clone()
    remarks = method_query.remarks
    notes = {printable(text, _NOTE): min(count, len(query.x)) for text, count in remarks.notes.items()}
    if zeros := int((attribution == 0).flatten(1).all(dim=1).sum()):
        notes[ZERO] = zeros
    features = query.setting.features
    return Answer(
        attribution, notes, _resolution(remarks, attribution, features), _grid(remarks, attribution, features)
    )


def _copy_for_method(query: Query) -> Query:
    """The query that a method receives. Its tensors are copies, so that no method can change the input of the next.
    Reference rows are left out, because only ``fit`` may see them."""
    x, target, baseline = query.x.clone(), query.target.clone(), query.baseline.clone()
    setting = replace(query.setting, reference=None)
    return replace(query, setting=setting, x=x, target=target, baseline=baseline, remarks=Remarks())


def _resolution(remarks: Remarks, attribution: Tensor, features: Features) -> Tensor | None:
    """Per feature. A resolution of another shape is ignored: it comes from an inner method."""
    stated_resolution = remarks.resolution
    if stated_resolution is None or stated_resolution.shape != attribution.shape:
        return None
    return per_feature(stated_resolution.detach(), features)


def _grid(remarks: Remarks, attribution: Tensor, features: Features) -> MapGrid | None:
    """A grid that no map lies on is ignored: it comes from an inner method."""
    grid = remarks.grid
    return grid if grid is not None and bool(lies_on(grid, per_feature(attribution, features)).any()) else None


def answer_with_promise(method: Method, query: Query) -> Answer:
    """The answer, with the method's promised sum, remedy and ``positive_only``."""
    checked_answer = answer(method, query)
    remedy, positive_only = str(getattr(method, "remedy", "")), bool(getattr(method, "positive_only", False))
    return replace(checked_answer, promised=promised_sum(method, query), remedy=remedy, positive_only=positive_only)


def promised_sum(method: Method, query: Query) -> Tensor | None:
    """The sum that the attribution should have (B,); None for methods that promise none."""
    if not hasattr(method, "promised"):
        return None
    promised = cast(Promising, method).promised(_copy_for_method(query)).detach()
    if promised.is_complex():
        raise BadAttribution("promised a complex sum")
    return promised.double()


def gap(attribution: Tensor, promised: Tensor) -> Tensor:
    """The attribution's sum minus the promised sum (B,)."""
    return attribution.double().flatten(1).sum(dim=1) - promised


@dataclass(frozen=True, eq=False)
class Explainer:
    """A method with the query it answered. Metrics use it to ask again about other inputs, classes or models, or with
    one choice made otherwise."""

    method: Method
    query: Query
    refit: bool = False  # the query's fit is that of another choice

    def __call__(self, x: Tensor, target: Tensor, setting: Setting, samples: Sequence[int] | None = None) -> Tensor:
        original, copies = self.query, len(x) // len(self.query.x)
        if setting is not original.setting and getattr(self.method, "bound", False):
            raise NotApplicable(BOUND)
        own_setting = setting if is_ours(self.method) else setting.copied()
        fitted = original.fitted
        if hasattr(self.method, "fit") and (self.refit or setting is not original.setting):
            stream = original.stream.for_fit()
            fitted = fit(cast(Fitted, self.method), own_setting, original.question, stream, original.machine)
        baseline = baseline_for(setting, original.question.baseline, x)
        positions = list(range(len(original.x))) * copies if samples is None else samples
        query = original.take(torch.tensor(positions, dtype=torch.long))
        query = replace(query, setting=own_setting, x=x, target=target, baseline=baseline, fitted=fitted)
        return answer(self.method, query).attribution

    def with_choice(self, parameter: str, value: Value) -> Explainer:
        if parameter.startswith(QUESTION):
            question = Question.from_table({parameter.removeprefix(QUESTION): value}).over(self.query.question)
            changed = replace(self, query=replace(self.query, question=question), refit=True)
            same = question == self.query.question
        else:
            spec = describe(self.method)
            if not spec.has(parameter):
                raise NotApplicable(f"the method has no parameter '{parameter}'")
            other = resolve("methods", spec.with_value(parameter, value))
            changed, same = replace(self, method=build("methods", other), refit=True), other == spec
        if same:
            raise NotApplicable(f"the attribution was made with {parameter}={value!r}")
        return changed


def make_explainer(method: Method, query: Query) -> Explainer | None:
    """The explainer of a method; None for precomputed attributions, which cannot be computed for other inputs."""
    return None if _is_precomputed(method) else Explainer(method, query)


def make_trial(
    metric: object,
    method: Method,
    query: Query,
    scene: Scene,
    attribution: Tensor,
    probe: Mapping[str, Tensor] | None = None,
) -> Trial:
    """The trial that a metric judges, with probe and preparation, without artifacts: for contracts."""
    if probe is None:
        probe = metric.probe(scene) if isinstance(metric, Probing) else {}
    prepared = {}
    if isinstance(metric, Preparing):
        rows = reference_samples(query.setting, "prepare")
        reference_query = make_query(query.setting, rows, query.question, query.stream.before_samples(), query.machine)
        reference_query = replace(reference_query, fitted=query.fitted)
        reference_scene = replace(
            scene, samples=rows, target=reference_query.target, stream=scene.stream.before_samples()
        )
        prepared = prepare(metric, method, reference_query, reference_scene)
    return Trial(scene, attribution, probe, prepared, make_explainer(method, query))


def prepare(metric: Preparing, method: Method, query: Query, scene: Scene) -> dict[str, Tensor]:
    """The metric's preparation on the method's attribution of the reference rows.

    ``query`` and ``scene`` hold the reference rows.
    """
    if _is_precomputed(method):
        raise NotApplicable("needs attributions of the reference rows, and those of the samples alone were given")
    return metric.prepare(Trial(scene, answer(method, query).attribution))


def reference_samples(setting: Setting, purpose: str) -> Samples:
    """Copies of the reference rows, as samples."""
    reference = setting.reference
    if reference is None:
        raise NotApplicable(f"needs reference data to {purpose}, and this environment has none")
    return Samples(reference.x, reference.label, None, tuple(range(len(reference.x)))).copy()


def fit(method: Fitted, setting: Setting, question: Question, stream: Stream, machine: Machine) -> dict[str, Tensor]:
    """The method's fit on the reference rows."""
    rows = reference_samples(setting, "fit")
    return method.fit(make_query(setting, rows, question, stream, machine))


def _is_precomputed(method: object) -> bool:
    """Whether the attributions are numbers from a file; also where such a method is inside a combinator."""
    parameters = (getattr(method, field.name) for field in fields(method)) if is_dataclass(method) else ()
    return bool(getattr(method, "given", False)) or any(
        _is_precomputed(value) for value in parameters if is_dataclass(value)
    )
