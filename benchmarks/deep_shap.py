"""DeepSHAP against shap's DeepExplainer: the same background, the same class, the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace

import torch
from torch import Tensor

from assay.core.query import Query
from assay.core.question import Question
from assay.engine.artifacts.answer import fit
from assay.methods.deep_shap import DeepShap
from assay.train.networks import initialise, mlp
from benchmarks.measuring import Problem
from benchmarks.problems import mlp_query, peer

BACKGROUND = 200  # the AGOP paper's
PAPER = (256, 256, 128, 64)  # its network


def problems() -> list[Problem]:
    small, large = predicted(mlp_query(64)), paper_query(64)
    return [
        _problem("MLP 20-64-64-3", small, one_class=True),
        _problem("MLP 20-64-64-3", small, one_class=False),
        _problem("MLP 20-256-256-128-64-3", large, one_class=True),
    ]


def paper_query(rows: int) -> Query:
    """The AGOP paper's network, untrained, asked for the class it predicts."""
    query = mlp_query(rows)
    network = mlp(query.x.shape[1], PAPER, 3)
    initialise(network, torch.Generator().manual_seed(0))
    return predicted(replace(query, setting=replace(query.setting, model=network.eval())))


def predicted(query: Query) -> Query:
    """The query about the predicted class, the only single class that shap can compute alone."""
    return replace(query, target=query.outputs(query.x).argmax(dim=1))


def deep_explainer(query: Query, background: Tensor, one_class: bool) -> tuple[Callable[[], Tensor], str]:
    """shap's values of the predicted class, and shap's name; without ``one_class`` shap computes all classes."""
    shap, name = peer("shap", "shap")
    explainer = shap.DeepExplainer(deepcopy(query.setting.model), background)  # it changes the model

    def attribute() -> Tensor:
        if one_class:
            values, _ = explainer.shap_values(query.x, ranked_outputs=1, check_additivity=False)
            return torch.from_numpy(values[..., 0])
        all_classes = explainer.shap_values(query.x, check_additivity=False)
        return torch.from_numpy(all_classes)[torch.arange(len(query.x)), :, query.target]

    return attribute, f"{name}, {'ranked_outputs=1' if one_class else 'all 3 classes, its default'}"


def _problem(what: str, query: Query, one_class: bool) -> Problem:
    method = DeepShap(background=BACKGROUND)
    query = replace(query, fitted=fit(method, query.setting, Question(), query.stream, query.machine))
    attribute, name = deep_explainer(query, query.fitted["background"], one_class)
    statement = f"{what}, {len(query.x)} rows, {BACKGROUND} background rows, the predicted class"
    title = statement if one_class else f"{statement} out of all"
    return Problem(title, len(query.x), lambda: method(query), attribute, name)
