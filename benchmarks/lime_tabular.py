"""LIME for tables against the lime package: the same perturbed rows, the same numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from assay.core.question import Question
from assay.engine.artifacts.answer import fit
from assay.methods.lime_tabular import LimeTabular
from benchmarks.measuring import Problem
from benchmarks.problems import answers, mlp_query, peer

SAMPLES = 5000  # lime's default


def problems() -> list[Problem]:
    return [_problem(256, 20)]


def _problem(rows: int, columns: int) -> Problem:
    lime, name = peer("lime.lime_tabular", "lime")
    query, method = mlp_query(rows, columns), LimeTabular(SAMPLES)
    query = replace(query, question=replace(query.question, readout="probability"))  # as lime does
    query = replace(query, fitted=fit(method, query.setting, Question(), query.stream, query.machine))
    assert query.setting.reference is not None
    random = query.generator("rows")
    explainer = lime.LimeTabularExplainer(
        query.setting.reference.x.numpy(),
        discretize_continuous=False,
        feature_selection="none",
        random_state=_same_rows(torch.randn(SAMPLES - 1, columns, generator=random, dtype=torch.float64)),
    )

    def attribute() -> Tensor:
        coefficients = torch.zeros(rows, columns)
        for row, (x, target) in enumerate(zip(query.x.numpy(), query.target.tolist(), strict=True)):
            explanation = explainer.explain_instance(
                x, answers(query), labels=(target,), num_features=columns, num_samples=SAMPLES
            )
            for column, coefficient in explanation.local_exp[target]:
                coefficients[row, column] = coefficient
        return coefficients

    statement = f"MLP {columns}-64-64-3, {rows} rows, {SAMPLES} perturbed rows each, all columns, the same rows drawn"
    return Problem(statement, rows, lambda: method(query), attribute, name)


def _same_rows(noise: Tensor) -> np.random.RandomState:
    """A random state for lime that returns these rows, after one row that lime replaces with the sample."""
    numbers = torch.cat([torch.zeros_like(noise[:1]), noise]).flatten().numpy()

    class FixedNumbers(np.random.RandomState):
        def normal(self, *_: Any) -> Any:
            return numbers.copy()

    return FixedNumbers(0)
