"""Occlusion against Captum at its fastest setting: the same windows, the same numbers."""

from __future__ import annotations

from torch import Tensor

from assay.methods.occlusion import Occlusion
from benchmarks.measuring import Problem
from benchmarks.problems import image_query, peer

PER_CALL = 16  # Captum's perturbations_per_eval; it is fastest about here


def problems() -> list[Problem]:
    captum, name = peer("captum.attr", "captum")
    query, method = image_query(64, 4), Occlusion(window=5, stride=3)
    theirs = captum.Occlusion(query.module)

    def attribute() -> Tensor:
        attribution: Tensor = theirs.attribute(
            query.x,
            sliding_window_shapes=(3, 5, 5),
            strides=(3, 3, 3),
            baselines=query.baseline,
            target=query.target,
            perturbations_per_eval=PER_CALL,
        )
        return attribution.detach().sum(dim=1)

    def ours() -> Tensor:
        attribution = method(query)
        return attribution.sum(dim=1) if attribution.dim() == 4 else attribution * 3

    statement = "color_count 64x64, 4 images, window 5, stride 3"
    return [Problem(statement, 4, ours, attribute, f"{name}, perturbations_per_eval={PER_CALL}")]
