"""LIME for tables against the lime package: the same perturbed rows, the same numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from assay.artifacts.asking import fit
from assay.bench.bench import Problem
from assay.bench.problems import answers, mlp_query, peer
from assay.core.question import Question
from assay.methods.lime_tabular import LimeTabular

SAMPLES = 5000  # lime's default


def problems() -> list[Problem]:
    return [_problem(256, 20)]


def _problem(rows: int, columns: int) -> Problem:
    lime, name = peer("lime.lime_tabular", "lime")
    query, method = mlp_query(rows, columns), LimeTabular(SAMPLES)
    query = replace(query, question=replace(query.question, readout="probability"))  # lime asks for them
    query = replace(query, fitted=fit(method, query.setting, Question(), query.stream, query.machine))
    assert query.setting.reference is not None
    drawn = query.generator("rows")
    explainer = lime.LimeTabularExplainer(
        query.setting.reference.x.numpy(),
        discretize_continuous=False,
        feature_selection="none",
        random_state=_same_rows(torch.randn(SAMPLES - 1, columns, generator=drawn, dtype=torch.float64)),
    )

    def attribute() -> Tensor:
        found = torch.zeros(rows, columns)
        for row, (x, target) in enumerate(zip(query.x.numpy(), query.target.tolist(), strict=True)):
            told = explainer.explain_instance(
                x, answers(query), labels=(target,), num_features=columns, num_samples=SAMPLES
            )
            for column, coefficient in told.local_exp[target]:
                found[row, column] = coefficient
        return found

    statement = f"MLP {columns}-64-64-3, {rows} rows, {SAMPLES} perturbed rows each, all columns, the same rows drawn"
    return Problem(statement, rows, lambda: method(query), attribute, name)


def _same_rows(noise: Tensor) -> np.random.RandomState:
    """A source of numbers for lime that hands out these rows, after one that the sample takes the place of."""
    given = torch.cat([torch.zeros_like(noise[:1]), noise]).flatten().numpy()

    class Given(np.random.RandomState):
        def normal(self, *_: Any) -> Any:
            return given.copy()

    return Given(0)
