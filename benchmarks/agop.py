"""AGOP-IxG: its cost compared with one gradient and with shap's DeepExplainer, with and without its fit.

Gradient and DeepExplainer give other numbers. Only the fit has a peer that must give the same ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from assay.core.query import Query
from assay.core.question import Question
from assay.engine.artifacts.answer import fit
from assay.methods.agop import Agop
from assay.methods.gradient import InputXGradient
from benchmarks.deep_shap import BACKGROUND, deep_explainer, paper_query, predicted
from benchmarks.measuring import Problem
from benchmarks.problems import mlp_query, peer

OTHER = "(another method, other numbers)"


def problems() -> list[Problem]:
    small, large, few = predicted(mlp_query(1000)), paper_query(1000), paper_query(128)
    return [
        _one_gradient("MLP 20-64-64-3", small),
        _one_gradient("MLP 20-256-256-128-64-3", large),
        _fit("MLP 20-256-256-128-64-3", large),
        _next_to_shap("after the fit", few, _fitted(few)),
        _next_to_shap("fit included", few, lambda: _fitted(few)()),
    ]


def _fitted(query: Query) -> Callable[[], Tensor]:
    """The method after its fit, ready to be called."""
    method = Agop()
    fitted_query = replace(query, fitted=fit(method, query.setting, Question(), query.stream, query.machine))
    return lambda: method(fitted_query)


def _one_gradient(what: str, query: Query) -> Problem:
    single = InputXGradient()
    statement = f"{what}, {len(query.x)} rows after the fit, against one gradient {OTHER}"
    return Problem(statement, len(query.x), _fitted(query), lambda: single(query), "assay, input_x_gradient")


def _fit(what: str, query: Query) -> Problem:
    """M, the average gradient outer product, put together from its eigenvectors: by our fit, and by eigh."""
    captum, name = peer("captum.attr", "captum")
    reference, method = query.setting.reference, Agop(threshold=0.0)
    assert reference is not None

    def ours() -> Tensor:
        factor = fit(method, query.setting, Question(), query.stream, query.machine)["factor"]
        return factor @ factor.T

    def theirs() -> Tensor:
        rows = reference.x.clone().requires_grad_()
        slopes = captum.Saliency(query.module).attribute(rows, reference.label, abs=False).double()
        values, vectors = torch.linalg.eigh(slopes.T @ slopes / len(slopes))
        matrix: Tensor = vectors * values @ vectors.T
        return matrix

    return Problem(f"{what}, the fit alone, per reference row", len(reference.x), ours, theirs, f"{name} and eigh")


def _next_to_shap(when: str, query: Query, ours: Callable[[], Tensor]) -> Problem:
    assert query.setting.reference is not None
    attribute, name = deep_explainer(query, query.setting.reference.x[:BACKGROUND], one_class=True)

    def shares() -> Tensor:
        size = attribute().abs()
        return size / size.sum(dim=1, keepdim=True)

    statement = f"MLP 20-256-256-128-64-3, {len(query.x)} rows, {when}, against {BACKGROUND} background rows {OTHER}"
    return Problem(statement, len(query.x), ours, shares, name)
