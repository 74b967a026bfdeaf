"""Occlusion against Captum at its fastest setting: the same windows, the same numbers."""

from __future__ import annotations

from torch import Tensor

from assay.core.query import Query
from assay.methods.occlusion import Occlusion
from benchmarks.measuring import Problem
from benchmarks.problems import image_query, peer, resnet_query

PER_CALL = 16  # Captum's perturbations_per_eval; it is fastest about here, on ResNet-18 of 4, 8, 16, 32


def problems() -> list[Problem]:
    return [
        _problem("color_count 64x64, 4 images", image_query(64, 4), Occlusion(window=5, stride=3)),
        _problem("ResNet-18 224x224, 2 images", resnet_query(2), Occlusion(window=64, stride=32)),
    ]


def _problem(what: str, query: Query, method: Occlusion) -> Problem:
    captum, name = peer("captum.attr", "captum")
    explainer = captum.Occlusion(query.module)

    def attribute() -> Tensor:
        attribution: Tensor = explainer.attribute(
            query.x,
            sliding_window_shapes=(3, method.window, method.window),
            strides=(3, method.stride, method.stride),
            baselines=query.baseline,
            target=query.target,
            perturbations_per_eval=PER_CALL,
        )
        return attribution.detach()[:, 0]  # every channel has the drop of its pixel

    statement = f"{what}, window {method.window}, stride {method.stride}"
    title = f"{name}, perturbations_per_eval={PER_CALL}"
    return Problem(statement, len(query.x), lambda: method(query), attribute, title)
