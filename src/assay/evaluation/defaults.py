"""Which methods and metrics are tried where the user names none: those that can answer about the model at hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from math import prod

from torch import nn

from assay.core.errors import AssayError, NotApplicable
from assay.core.features import Columns
from assay.core.machine import Machine
from assay.core.question import Question
from assay.core.rng import Stream
from assay.core.setting import Samples, Setting
from assay.engine.artifacts.answer import fit, make_query
from assay.methods.tree_shap import TreeShap
from assay.train.estimator import Estimator

EXACT = 12  # features up to which all coalitions are evaluated
COALITIONS = 256  # features up to which KernelSHAP's regression is solved
BACKGROUND = 50  # reference rows in place of unknown features, where shap needs some
LIME = "lime_tabular(times='product')"  # what values add, as all other methods; the coefficients alone are slopes
ORDER, SIZE = "symmetric_relevance_gain", "sensitivity_n"  # the metrics that decide
METRICS = (("relevance gain", ORDER), ("Sensitivity-N", SIZE))
CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)


def default_methods(setting: Setting, samples: Samples, machine: Machine = Machine()) -> tuple[list[str], list[str]]:
    """Specs of methods for a model, controls last; and sentences about what was left out."""
    left_out: list[str] = []
    methods = [*_by_kind(setting), *_trees(setting, samples, machine, left_out)]
    controls = ["random_map", *(["edge_map", "centred_gaussian"] if setting.kind == "image" else [])]
    return [*methods, *controls], left_out


def _by_kind(setting: Setting) -> Iterator[str]:
    features = prod(setting.features.shape)
    if setting.differentiable:
        yield from ("gradient", "input_x_gradient", "integrated_gradients", "smoothed(of=gradient())")
    modules = list(setting.model.modules())
    if setting.kind == "image":
        if setting.differentiable and any(isinstance(module, nn.Conv2d) for module in modules):
            yield from ("grad_cam", "guided_backprop", "lrp")
        yield "occlusion"
    else:
        yield "exact_shapley" if features <= EXACT else "kernel_shap" if features <= COALITIONS else "feature_ablation"
    has_blocks = isinstance(setting.features, Columns) and len(setting.features.groups) != features
    if setting.kind == "table" and not has_blocks:  # LIME is fitted to numbers
        yield LIME
    if setting.kind != "image" and features <= COALITIONS:
        yield "feature_ablation"
    if setting.kind == "table" and (setting.differentiable or not has_blocks):  # categories have no differences
        yield "agop" if setting.differentiable else "by_differences(of=agop())"
    if setting.differentiable and any(isinstance(module, nn.MultiheadAttention) for module in modules):
        yield from ("attention_rollout", "chefer_relevance")


def _trees(setting: Setting, samples: Samples, machine: Machine, left_out: list[str]) -> Iterator[str]:
    """TreeSHAP in the first form that answers about this model."""
    if not isinstance(setting.model, Estimator):
        return
    if find_spec("shap") is None:
        left_out.append("tree_shap was not tried: it needs shap, pip install 'assay-xai[trees]'")
        return
    first = replace(samples, x=samples.x[:1], label=samples.label[:1], indices=samples.indices[:1])
    first = replace(first, target=None if samples.target is None else samples.target[:1])
    for background in (0, BACKGROUND):
        method, stream = TreeShap(background), Stream("method", "tree_shap")
        try:
            query = make_query(setting, first, Question(), stream, machine)
            fitted = fit(method, setting, Question(), stream, machine) if background else {}  # type: ignore[arg-type]
            method(replace(query, fitted=fitted))
        except (NotApplicable, AssayError, ValueError):
            continue
        yield f"tree_shap(background={background})" if background else "tree_shap"
        return
