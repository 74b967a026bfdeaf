"""KernelSHAP against shap on rows, and against Captum on segments of an image.

With all coalitions both sides are exact; with fewer both estimate. Captum is given our coalitions and still differs in
the fourth digit: it solves the regression in float32, with a weight of 1e6 on all features and on none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from assay.kit.grid_cells import grid_cells
from assay.methods.kernel_shap import KernelShap, _design
from benchmarks.measuring import Problem
from benchmarks.problems import SIDE, Boxes, answers, mlp_query, peer, resnet_query

CELLS = 7  # segments along a side of the image
COALITIONS = 200
PER_CALL = 8  # Captum's perturbations_per_eval, of 4, 8, 16, 32 the fastest, by little


def problems() -> list[Problem]:
    return [
        _rows(10, 2**10 - 2, 64, "all coalitions"),
        _rows(20, 200, 256, "200 coalitions, both estimate"),
        _segments(),
    ]


def _rows(columns: int, budget: int, rows: int, what: str) -> Problem:
    shap, name = peer("shap", "shap")
    query, method = mlp_query(rows, columns), KernelShap(samples=budget)
    explainer = shap.KernelExplainer(answers(query), np.zeros((1, columns)))

    def attribute() -> Tensor:
        values = explainer.shap_values(query.x.numpy(), nsamples=budget, l1_reg=False, silent=True)
        return torch.from_numpy(values)[torch.arange(rows), :, query.target]  # (rows, columns, classes)

    return Problem(f"MLP {columns}-64-64-3, {rows} rows, {what}", rows, lambda: method(query), attribute, name)


def _segments() -> Problem:
    captum, name = peer("captum.attr", "captum")
    query, method = resnet_query(1), KernelShap(samples=COALITIONS)
    query = replace(query, setting=replace(query.setting, features=Boxes((3, SIDE, SIDE), (1, CELLS, CELLS))))
    half, _ = _design(CELLS**2, COALITIONS // 2, query.generator("coalitions"))
    coalitions = torch.cat([half, ~half]).long()  # with all and with none
    explainer = captum.KernelShap(query.module)

    def same(*_: Any, **__: Any) -> Iterator[Tensor]:
        yield from coalitions.split(1)

    # Captum would draw its own. All weigh the same there, and here: 200 are too few to take a size completely.
    explainer.perturb_func = same

    def attribute() -> Tensor:
        values: Tensor = explainer.attribute(
            query.x,
            baselines=query.baseline,
            target=query.target,
            feature_mask=grid_cells(SIDE, SIDE, CELLS, CELLS)[None, None],
            n_samples=len(coalitions),
            perturbations_per_eval=PER_CALL,
            return_input_shape=False,
        )
        return values.view(1, 1, CELLS, CELLS)

    statement = f"ResNet-18 224x224, 1 image, {CELLS}x{CELLS} segments, {COALITIONS} coalitions, the same for both"
    return Problem(statement, 1, lambda: method(query), attribute, f"{name}, perturbations_per_eval={PER_CALL}")
