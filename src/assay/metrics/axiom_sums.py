"""Tests of the axioms about sums, completeness and linearity (Sundararajan et al., 2017)."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor, nn

from assay.core.errors import NotApplicable
from assay.core.evidence import Evidence
from assay.core.query import Query
from assay.core.setting import Setting, model_copy
from assay.core.trial import Trial
from assay.kit.rounding import answer_rounding
from assay.metrics._repeat import comparable_maps
from assay.metrics._rows import rows

ROUNDING = 1e-5  # relative to the size of the maps that are added up


def relative_gap(difference: Tensor, left_size: Tensor, right_size: Tensor, rounding: Tensor) -> tuple[Tensor, Tensor]:
    """The size (B,) of a difference, relative to the larger of the two sizes, in 0..2, and where that is defined.

    Undefined where both sizes are within ``rounding`` of 0.
    """
    larger = torch.maximum(left_size, right_size)
    defined = larger > rounding
    return (difference / larger.where(defined, 1.0)).clamp(max=2.0).where(defined, 0.0), defined


@dataclass(frozen=True)
class AxiomCompleteness:
    """How far the attribution is from adding up to what it explains: the input's score minus the baseline's.

    |sum of a - (f(x) - f(baseline))|, relative to the larger of the two sizes: 0 where they are equal, 1 where one is
    0, 2 where they are opposite. Readout and baseline are those of the method's question. Undefined where sum and
    change are both 0, up to rounding, and where the model has no finite answer. Not the metric ``completeness``, which
    removes features. A method with a random baseline is complete on average only.
    """

    higher_is_better: ClassVar[bool] = False
    range: ClassVar[tuple[float, float]] = (0.0, 2.0)
    ideal: ClassVar[float] = 0.0
    needs: ClassVar[tuple[str, ...]] = ("model", "method")
    cost: ClassVar[str] = "2 model rows a sample"
    invariant: ClassVar[tuple[str, ...]] = ()
    exact_on_linear: ClassVar[bool] = True
    paper: ClassVar[str] = "Axiomatic Attribution for Deep Networks (Sundararajan et al., 2017)"

    def __call__(self, trial: Trial) -> Evidence:
        query = trial.scene.ask(trial.scene.question)
        scores = torch.stack([query.score(query.x), query.score(query.baseline)])
        finite = scores.isfinite().all(dim=0)
        top, bottom = scores.double().where(finite, 0.0)
        attributions = trial.attribution.double().flatten(1)
        total, change = attributions.sum(dim=1), top - bottom
        largest = torch.maximum(attributions.abs().sum(dim=1), torch.maximum(top.abs(), bottom.abs()))
        rounding = answer_rounding(scores.dtype) * largest
        value, defined = relative_gap((total - change).abs(), total.abs(), change.abs(), rounding)
        return rows(value=value.where(finite, 0.0), defined=defined & finite)


@dataclass(frozen=True)
class AxiomLinearity:
    """How far the attribution of a weighted sum of two scores is from the weighted sum of their attributions.

    The scores f and g are the model's outputs (logits, values or probabilities, as in the method's question) for the
    target and for the next class; the first class follows the last. h = u f + v g is a model of its own, whose last
    layer computes the sum. The error is |A(h) - (u A(f) + v A(g))|, relative to the larger of the two sizes (Euclidean
    norms): 0 where they are equal, 2 where they are opposite. By default h is the difference of two classes: a method
    that ignores the class scores 1. Undefined where both sides are 0, up to rounding. Needs two outputs, and a question
    without temperature or margin, as a sum of models does not carry over to these. Definition ours.
    """

    weights: tuple[float, float] = (1.0, -1.0)  # u for the target's score, v for the next class's

    higher_is_better: ClassVar[bool] = False
    range: ClassVar[tuple[float, float]] = (0.0, 2.0)
    ideal: ClassVar[float] = 0.0
    needs: ClassVar[tuple[str, ...]] = ("model", "method")
    cost: ClassVar[str] = "two more attributions, and a fit"
    invariant: ClassVar[tuple[str, ...]] = ()
    exact_on_linear: ClassVar[bool] = True
    paper: ClassVar[str] = "Axiomatic Attribution for Deep Networks (Sundararajan et al., 2017)"

    def __call__(self, trial: Trial) -> Evidence:
        query = trial.scene.ask(trial.scene.question)
        setting = mixture_setting(query, self.weights)
        next_class = (trial.scene.target + 1) % query.outputs(query.x[:1]).shape[-1]
        first, *others = comparable_maps(trial, trial.again(target=next_class), trial.again(setting=setting))
        second, of_sum = (maps[0] for maps in others)
        parts = self.weights[0] * first, self.weights[1] * second
        sum_of_maps = parts[0] + parts[1]
        rounding = ROUNDING * (parts[0].norm(dim=1) + parts[1].norm(dim=1))
        gap = (of_sum - sum_of_maps).norm(dim=1)
        value, defined = relative_gap(gap, of_sum.norm(dim=1), sum_of_maps.norm(dim=1), rounding)
        return rows(value=value, defined=defined)


def mixture_setting(query: Query, weights: tuple[float, float]) -> Setting:
    """The setting of a model whose score for class c is a weighted sum of the scores of c and of the next class.

    If the model's output is its last linear layer, this layer computes the sum, so that methods see a network with the
    same layers. Otherwise a linear layer is added after the model.
    """
    setting, question = query.setting, query.question
    count = query.outputs(query.x[:1]).shape[-1]
    if count < 2:
        raise NotApplicable("needs at least two outputs to add up")
    eye = torch.eye(count, dtype=query.x.dtype, device=query.x.device)
    mixture = weights[0] * eye + weights[1] * eye.roll(1, dims=1)  # row c: the weights of classes c and c + 1
    if question.readout in ("logit", "value"):
        folded = _folded_copy(setting.model, mixture)
        if folded is not None and _outputs_are_sums(
            replace(query, setting=_with_model(setting, folded)), query, mixture
        ):
            return _with_model(setting, folded)
        return _with_modules_after(setting, _linear_layer(mixture))
    if question.readout == "probability" and question.temperature in (None, 1.0):
        soft = [] if setting.outputs == "probabilities" else [nn.Softmax(dim=1)]
        return replace(_with_modules_after(setting, *soft, _linear_layer(mixture)), outputs="probabilities")
    raise NotApplicable(
        "needs a score that is a plain output: ask the method about logits, as in question = { readout = 'logit' }"
    )


def _with_model(setting: Setting, model: nn.Module) -> Setting:
    return replace(setting, model=model, forward=None)


def _with_modules_after(setting: Setting, *modules: nn.Module) -> Setting:
    """The model followed by modules; hints that name its layers get the new names of these."""
    named = {f"mixture{index}": module for index, module in enumerate(modules)}
    model = nn.Sequential(OrderedDict(model=setting.model, **named)).eval()
    layers = dict(setting.model.named_modules())
    hints = {name: f"model.{hint}" if hint in layers else hint for name, hint in setting.hints.items()}
    return replace(_with_model(setting, model), hints=hints)


def _linear_layer(mixture: Tensor) -> nn.Linear:
    layer = nn.Linear(len(mixture), len(mixture), bias=False, device="meta")
    layer.weight = nn.Parameter(mixture, requires_grad=False)
    return layer


def _folded_copy(model: nn.Module, mixture: Tensor) -> nn.Module | None:
    """A copy whose last linear layer computes the sums; None if no linear layer has that many outputs."""
    copy = model_copy(model)
    candidates = [part for part in copy.modules() if isinstance(part, nn.Linear) and part.out_features == len(mixture)]
    if not candidates:
        return None
    with torch.no_grad():
        candidates[-1].weight.copy_(mixture @ candidates[-1].weight)
        if candidates[-1].bias is not None:
            candidates[-1].bias.copy_(mixture @ candidates[-1].bias)
    return copy


def _outputs_are_sums(query: Query, before: Query, mixture: Tensor) -> bool:
    """Whether this query's model answers with the weighted sums of the other's outputs."""
    expected, actual = before.outputs(before.x) @ mixture.T, query.outputs(query.x)
    size = before.outputs(before.x).abs().amax(dim=1, keepdim=True)
    return bool(((expected - actual).abs() <= 1e-4 * size).all())
