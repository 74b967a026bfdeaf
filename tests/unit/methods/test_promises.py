"""What methods promise their attributions to add up to, and whether they do."""

from __future__ import annotations

import pytest
import torch

from assay.engine.artifacts.answer import gap, promised_sum
from assay.methods.combinators import Absolute, Pooled
from assay.methods.deep_shap import DeepShap
from assay.methods.exact_integrated_gradients import ExactIntegratedGradients
from assay.methods.exact_shapley import ExactShapley
from assay.methods.gradient import Gradient
from assay.methods.gradient_shap import GradientShap
from assay.methods.integrated_gradients import IntegratedGradients
from assay.methods.kernel_shap import KernelShap
from assay.methods.smoothed import Smoothed
from scenes import ask, data, fitted, mlp

KEPT = [
    (ExactIntegratedGradients(), 1e-9),
    (ExactShapley(), 1e-9),
    (KernelShap(62), 1e-9),
    (DeepShap(), 1e-9),
    (DeepShap(background=5), 1e-9),
    (IntegratedGradients(2000), 1e-3),
    (Pooled(IntegratedGradients(2000)), 1e-3),
    (GradientShap(20000), 0.05),
    (GradientShap(20000, background=5), 0.05),
]
UNPROMISING = [
    Gradient(),
    Absolute(ExactShapley()),
    Smoothed(ExactShapley()),
    DeepShap(skip="0"),
    GradientShap(noise=1.0),
]


def query(method):
    return fitted(method, ask(mlp().double(), data(4, 6).double(), "probability", baseline=0.3))


@pytest.mark.parametrize(("method", "tolerance"), KEPT, ids=lambda value: str(value))
def test_a_promise_is_kept(method, tolerance):
    asked = query(method)
    promised = promised_sum(method, asked)
    assert promised.abs().max() > 1e-3
    assert gap(method(asked), promised).abs().max() <= tolerance * promised.abs().max()


@pytest.mark.parametrize("method", UNPROMISING, ids=str)
def test_others_promise_nothing(method):
    assert promised_sum(method, query(method)) is None


def test_too_few_steps_leave_a_gap():
    method = IntegratedGradients(1, "left")
    asked = query(method)
    assert gap(method(asked), promised_sum(method, asked)).abs().max() > 1e-3


def test_a_gap_is_the_sum_over_all_entries_minus_the_promise():
    assert gap(torch.ones(2, 3, 4), torch.tensor([10.0, 12.0])).tolist() == [2.0, 0.0]
