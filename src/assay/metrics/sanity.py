"""Sanity checks: how similar a map stays for another class, another choice, or random weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import ClassVar, Literal

import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import normalize
from torch.nn.modules.batchnorm import _NormBase

from assay.core.errors import NotApplicable, SpecError
from assay.core.evidence import Evidence, Score
from assay.core.question import Question
from assay.core.setting import Setting, model_copy
from assay.core.trial import Scene, Trial, per_feature
from assay.kit.curves import even_counts
from assay.kit.feature_orders import spearman
from assay.metrics._rows import rows
from assay.metrics._sets import point_by_point

Fixed = (_NormBase, nn.LayerNorm, nn.GroupNorm, nn.RMSNorm, nn.PReLU)  # a new one always has the same parameters


def similarity(left: Tensor, right: Tensor, by: str, absolute: bool) -> tuple[Tensor, Tensor]:
    """Similarity over the last dimension, and where it is defined.

    Undefined where a map says nothing: for rank correlation a constant map, for the cosine a map of zeros.
    """
    left, right = (side.abs() if absolute else side for side in (left, right))
    if by == "spearman":
        return spearman(_on_grid(left), _on_grid(right))
    left, right = left.double(), right.double()
    defined = left.any(dim=-1) & right.any(dim=-1)
    cosine = (_unit_length(left) * _unit_length(right)).sum(dim=-1).clamp(-1, 1)
    return cosine.where(defined, 0.0), defined


def _on_grid(values: Tensor) -> Tensor:
    """Values rounded to a grid, with a step of 6e-6 of the map's largest in float32 and 2e-12 in float64.

    Values that differ by rounding alone then have equal ranks.
    """
    largest = values.abs().amax(dim=-1, keepdim=True)
    step = largest.where(largest > 0, 1.0) * torch.finfo(values.dtype).eps ** 0.75
    return torch.round(values / step)


def _unit_length(values: Tensor) -> Tensor:
    largest = values.abs().amax(dim=-1, keepdim=True)
    return normalize(values / largest.where(largest > 0, 1.0), dim=-1)  # tiny values would vanish when squared


@dataclass(frozen=True)
class ClassSensitivity:
    """Similarity between the attribution of the target and the attribution of another class of the same sample.

    A method that returns the same map for every class scores 1. The other class is the least likely one according to
    the model, or the most likely one except the target. Maps are compared feature by feature, by rank correlation or
    cosine. Undefined where one of the two maps is constant (zero, for the cosine). If two classes have opposite scores,
    correct maps have equal sizes: compare signed maps.
    """

    other: Literal["least", "most"] = "least"  # which class: the least likely, or the most likely except the target
    by: Literal["spearman", "cosine"] = "spearman"  # similarity of two maps: rank correlation, or cosine
    absolute: bool = True  # compare absolute values; otherwise signed ones, where a negated map is the least similar

    higher_is_better: ClassVar[bool] = False
    range: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    ideal: ClassVar[float] = 0.0
    needs: ClassVar[tuple[str, ...]] = ("model", "method")
    cost: ClassVar[str] = "one more attribution"
    invariant: ClassVar[tuple[str, ...]] = ("scale",)  # not monotone: a power changes which values tie by rounding
    exact_on_linear: ClassVar[bool] = False
    paper: ClassVar[str] = "When Explanations Lie (Sixt et al., 2020), the random logit; choices of class ours"

    def probe(self, scene: Scene) -> dict[str, Tensor]:
        """The other class (B,)."""
        query = scene.ask(Question(readout="value"))
        outputs = query.outputs(query.x)
        if outputs.shape[1] < 2:
            raise NotApplicable("needs at least two classes, and this model has one output")
        is_target = torch.nn.functional.one_hot(scene.target, outputs.shape[1]).bool()
        if self.other == "least":
            return {"other": outputs.masked_fill(is_target, torch.inf).argmin(dim=1)}
        return {"other": outputs.masked_fill(is_target, -torch.inf).argmax(dim=1)}

    def __call__(self, trial: Trial) -> Evidence:
        other = (trial.probe or self.probe(trial.scene))["other"]
        again = per_feature(trial.again(target=other), trial.scene.setting.features)
        value, defined = similarity(trial.map.flatten(1), again.flatten(1), self.by, self.absolute)
        return rows(value=value, defined=defined)


@dataclass(frozen=True)
class ChoiceSensitivity:
    """Similarity between the attribution and the same method's attribution with one choice made otherwise.

    1 where the choice does not matter, 0 where the second map says nothing about the first. The choice is a field of
    the question (``question.baseline``), a parameter of the method (``segments``) or of one inside it (``of.steps``),
    as in a study's sweep. A random method draws the same numbers, a method with a fit is fitted again. Maps are
    compared feature by feature. If only absolute values are similar, it is signs that change.

    Undefined where one of the two maps is constant (zero, for the cosine). Not applicable to methods without the
    parameter, and to maps that were made with this value. This says nothing about truth: a map that ignores the model
    scores 1, and so does one that reads no baseline. Definition ours.
    """

    parameter: str = "question.baseline"  # what is chosen otherwise
    value: bool | int | float | str = "uniform"  # its other value
    by: Literal["spearman", "cosine"] = "spearman"  # similarity of two maps: rank correlation, or cosine
    absolute: bool = False  # compare absolute values; otherwise signed ones, where a negated map is the least similar

    higher_is_better: ClassVar[bool] = True
    about: ClassVar[str] = "models"  # a method is not better for it
    range: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    ideal: ClassVar[float] = 1.0
    needs: ClassVar[tuple[str, ...]] = ("method",)
    cost: ClassVar[str] = "one more attribution, and a fit"
    invariant: ClassVar[tuple[str, ...]] = ("scale",)  # not monotone: a power changes which values tie by rounding
    exact_on_linear: ClassVar[bool] = False
    paper: ClassVar[str] = "ours, for figures 6b, 7d, 25 and 26 of AttributionLab (Zhang et al., 2024)"

    def __post_init__(self) -> None:
        if self.parameter == "question.target":
            raise SpecError("choice_sensitivity: both maps are about the same class. Write class_sensitivity.")

    def __call__(self, trial: Trial) -> Evidence:
        other = per_feature(trial.again_with(self.parameter, self.value), trial.scene.setting.features)
        value, defined = similarity(trial.map.flatten(1), other.flatten(1), self.by, self.absolute)
        return rows(value=value, defined=defined)


@dataclass(frozen=True)
class ParameterRandomisation:
    """Similarity between the attribution and the attribution of the same network with random weights.

    Layers are reinitialised from the output on: all down to a depth (cascading), or only the one at that depth. A layer
    is a module with parameters; its depth is its position in the model's list of modules, from the end. New weights are
    those of an untrained layer, as PyTorch fills linear and convolutional ones: uniform within 1 / sqrt(inputs). They
    are the same for all samples, methods and depths. Target, input and baseline stay. Maps are compared feature by
    feature.

    A method that ignores the model scores 1, one whose new map is unrelated to the old one 0. A low score is no proof
    of truth: noise that depends on the model scores 0, too. A depth is undefined where a map is constant there (zero,
    for the cosine), as in a network whose random units are all dead; the value is the mean over the other depths.
    """

    order: Literal["cascading", "independent"] = "cascading"  # all layers down to a depth, or one layer at a time
    depths: int = 8  # at most this many, evenly spaced, each one more attribution; the first layer is always among them
    by: Literal["spearman", "cosine"] = "spearman"  # similarity of two maps: rank correlation, or cosine
    absolute: bool = True  # compare absolute values; otherwise signed ones, where a negated map is the least similar
    at: Literal["mean", "last"] = "mean"  # the value: mean over all depths, or at the last only

    higher_is_better: ClassVar[bool] = False
    range: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    ideal: ClassVar[float] = 0.0
    needs: ClassVar[tuple[str, ...]] = ("model", "method")
    cost: ClassVar[str] = "an attribution, and a fit, for each depth"
    invariant: ClassVar[tuple[str, ...]] = ("scale",)  # not monotone: a power changes which values tie by rounding
    exact_on_linear: ClassVar[bool] = False
    axes: ClassVar[tuple[str, str]] = ("layers from the output", "similarity")
    paper: ClassVar[str] = "Sanity Checks for Saliency Maps (Adebayo et al., 2018)"

    def __post_init__(self) -> None:
        if self.depths < 1:
            raise SpecError(f"parameter_randomisation: depths={self.depths} must be at least 1.")

    def __call__(self, trial: Trial) -> Evidence:
        setting = trial.scene.setting
        names = layer_names(setting.model)[::-1]
        if not names:
            raise NotApplicable("needs a network with parameters, and this model shows none")
        depths = even_counts(len(names), self.depths)[1:]
        comparisons = [self._compare(trial, self._randomised(trial, names, depth)) for depth in depths.tolist()]
        curve, defined = (torch.stack(side, dim=1) for side in zip(*comparisons, strict=True))  # (B, depths)
        if self.at == "last":
            value, count = curve[:, -1], defined[:, -1].long()
        else:
            count = defined.sum(dim=1)
            value = curve.sum(dim=1) / count.clamp(min=1)
        curve, shown = curve * (count > 0)[:, None], defined & (count > 0)[:, None]
        return rows(depths, value=value, defined=count > 0, curve=curve, curve_defined=shown)

    def reduce(self, evidence: Evidence) -> Score:
        """The mean over defined samples; the curve likewise, depth by depth."""
        return point_by_point(evidence)

    def _randomised(self, trial: Trial, names: list[str], depth: int) -> Setting:
        setting = trial.scene.setting
        chosen = names[:depth] if self.order == "cascading" else names[depth - 1 : depth]
        model = reinitialised(setting.model, chosen, lambda name: trial.scene.generator(f"layer {name}"))
        return replace(setting, model=model, forward=None)  # ``forward`` would still have the old weights

    def _compare(self, trial: Trial, setting: Setting) -> tuple[Tensor, Tensor]:
        again = per_feature(trial.again(setting=setting), setting.features)
        return similarity(trial.map.flatten(1), again.flatten(1), self.by, self.absolute)


def layer_names(model: nn.Module) -> list[str]:
    """Names of the modules that own parameters, as the model lists them: from the input to the output."""
    return [name for name, module in model.named_modules() if next(module.parameters(recurse=False), None) is not None]


def reinitialised(model: nn.Module, names: Sequence[str], stream: Callable[[str], Generator]) -> nn.Module:
    """A copy in which the named layers have new weights, each drawn from its own stream."""
    copy = model_copy(model)
    for name in names:
        _reset(copy.get_submodule(name), stream(name))
    return copy


def _reset(module: nn.Module, generator: Generator) -> None:
    """Fill as PyTorch fills linear and convolutional layers: uniform within 1 / sqrt(inputs), biases too.

    A normalisation gets weights 1 and biases 0 and forgets its running statistics; a PReLU gets its initial slope.
    Other tensors follow the same rule: the inputs of a tensor are all its dimensions but the first; those of a vector
    are the most inputs of any tensor of the module.
    """
    if isinstance(module, Fixed):
        module.reset_parameters()
        return
    tensors = list(module.parameters(recurse=False))
    most_inputs = max(_inputs(parameter) for parameter in tensors)
    for parameter in tensors:
        bound = 1 / sqrt(_inputs(parameter) if parameter.dim() > 1 else most_inputs)
        drawn = torch.rand(parameter.shape, generator=generator)
        with torch.no_grad():
            parameter.copy_(bound * (2 * drawn - 1))


def _inputs(parameter: Tensor) -> int:
    return max(1, parameter[0].numel()) if parameter.dim() > 1 else 1
