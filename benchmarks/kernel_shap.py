"""KernelSHAP against shap: with all coalitions both are exact; with fewer both estimate."""

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
    shap, name = peer("shap", "shap")
    query, method = mlp_query(rows, columns), KernelShap(samples=budget)
    explainer = shap.KernelExplainer(answers(query), np.zeros((1, columns)))

    def attribute() -> Tensor:
        values = explainer.shap_values(query.x.numpy(), nsamples=budget, l1_reg=False, silent=True)
        return torch.from_numpy(values)[torch.arange(rows), :, query.target]  # (rows, columns, classes)

    return Problem(f"MLP {columns}-64-64-3, {rows} rows, {what}", rows, lambda: method(query), attribute, name)
