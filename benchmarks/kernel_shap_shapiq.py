"""KernelSHAP against shapiq: with all coalitions both are exact; with fewer both estimate, each from its own draws."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from assay.methods.kernel_shap import KernelShap
from benchmarks.measuring import Problem
from benchmarks.problems import answers, mlp_query, peer


def problems() -> list[Problem]:
    return [_problem(10, 2**10 - 2, 64, "all coalitions"), _problem(20, 200, 256, "200 coalitions, both estimate")]


def _problem(columns: int, budget: int, rows: int, what: str) -> Problem:
    shapiq, name = peer("shapiq", "shapiq", "shapiq -c constraints.txt")
    query, method = mlp_query(rows, columns), KernelShap(samples=budget)
    options = {"imputer": "baseline", "index": "SV", "max_order": 1, "random_state": 0}
    explainers = [
        shapiq.TabularExplainer(answers(query), np.zeros((1, columns)), class_index=label, **options)
        for label in range(3)
    ]

    def attribute() -> Tensor:
        pairs = zip(query.x.numpy(), query.target.tolist(), strict=True)
        # shapiq counts the coalitions of all columns and of none, too.
        values = [explainers[target].explain(x[None], budget=budget + 2) for x, target in pairs]
        return torch.from_numpy(np.stack([value.get_n_order_values(1) for value in values]))

    return Problem(f"MLP {columns}-64-64-3, {rows} rows, {what}", rows, lambda: method(query), attribute, name)
