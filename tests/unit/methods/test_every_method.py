"""What holds for every method: it changes nothing, rows do not meet, and the same question has the same answer."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from assay.core.errors import NotApplicable
from assay.core.trial import check_attribution
from assay.methods.absolute import Absolute
from assay.methods.agop import Agop
from assay.methods.constant import Constant
from assay.methods.deep_shap import DeepShap
from assay.methods.grad_cam import GradCam
from assay.methods.grad_cam_plus_plus import GradCamPlusPlus
from assay.methods.gradient import Gradient
from assay.methods.gradient_shap import GradientShap
from assay.methods.guided_backprop import GuidedBackprop
from assay.methods.iba import Iba
from assay.methods.input_x_gradient import InputXGradient
from assay.methods.integrated_gradients import IntegratedGradients
from assay.methods.layer_cam import LayerCam
from assay.methods.lrp import Lrp
from assay.methods.lrp_composite import LrpComposite
from assay.methods.occlusion import Occlusion
from assay.methods.pooled import Pooled
from assay.methods.random_map import RandomMap
from assay.methods.random_shifted import RandomShifted
from assay.methods.random_squared import RandomSquared
from assay.methods.score_cam import ScoreCam
from assay.methods.smooth_grad_cam_plus_plus import SmoothGradCamPlusPlus
from assay.methods.smoothed import Smoothed
from assay.methods.x_grad_cam import XGradCam
from scenes import TINY, ask, cnn, data, fitted, mlp, rows

MODEL_FREE = [RandomMap(), RandomSquared(), RandomShifted(), Constant()]
ON_LOGITS = [Lrp(0.1), LrpComposite(), Smoothed(Lrp(), samples=2)]
ANYWHERE = [
    Gradient(),
    InputXGradient(),
    IntegratedGradients(9),
    IntegratedGradients(5, "gauss_legendre"),
    GradientShap(5),
    GradientShap(4, noise=0.2, background=3),
    GuidedBackprop(),
    DeepShap(),
    DeepShap(softmax="captum", background=3),
    Occlusion(),
    Agop(),
    Agop(form="diagonal"),
    Agop(form="inverse"),
    Absolute(IntegratedGradients(3)),
    Pooled(DeepShap(skip="0")),
    Smoothed(samples=3, reduce="variance"),
]
ON_IMAGES = [
    GradCam(),
    GradCam("1", relu=False),
    Pooled(GradCam("0")),
    LayerCam("1"),
    XGradCam("1", relu=False),
    GradCamPlusPlus("1"),
    GradCamPlusPlus(form="torchcam"),
    SmoothGradCamPlusPlus("1", samples=3),
    ScoreCam("0"),
    ScoreCam(weights="increase"),
    Iba("1", steps=3, copies=3),
]


def images():
    net = cnn(pool=lambda: nn.MaxPool2d(2))
    return nn.Sequential(*net.body, nn.Flatten(), *net.head)


CASES = [
    *[(method, mlp, (6,), "logit") for method in [*MODEL_FREE, *ON_LOGITS, *ANYWHERE]],
    *[(method, mlp, (6,), "probability") for method in ANYWHERE],
    *[(method, images, (2, 8, 8), "logit") for method in [*MODEL_FREE, *ON_LOGITS, *ANYWHERE, *ON_IMAGES]],
    *[(method, images, (2, 8, 8), "probability") for method in [*ANYWHERE, *ON_IMAGES]],
]


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}-{case[1].__name__}-{case[3]}")
def case(request):
    method, model, entries, readout = request.param
    return method, fitted(method, ask(model(), data(8, *entries), readout, baseline=0.3, temperature=2.0))


def state(module):
    """Everything that surgery might leave behind."""
    return [
        (
            name,
            part.training,
            {key: value for key, value in vars(part).items() if "hooks" in key and value},
            sorted(set(vars(part)) - {"_parameters", "_buffers", "_modules"}),
            getattr(part, "inplace", None),
        )
        for name, part in module.named_modules()
    ]


class Broken(nn.Module):
    """Works for the first ``calls`` calls."""

    def __init__(self, layers, calls):
        super().__init__()
        self.first, self.last = layers[:2], layers[2:]
        self.calls = calls

    def forward(self, x):
        x = self.first(x)
        object.__setattr__(self, "calls", self.calls - 1)
        if self.calls < 0:
            raise RuntimeError("broken in the middle")
        return self.last(x)


def test_attributions_are_accepted(case):
    method, query = case
    found = method(query)
    assert not found.requires_grad
    assert found.dtype == query.x.dtype
    check_attribution(found, query.x, query.setting.features)


def test_the_same_question_has_the_same_answer(case):
    method, query = case
    assert torch.equal(method(query), method(replace(query)))


def rounding(method):
    """Of float32. Captum's rule for softmax divides by small differences: without AVX 3.3e-5 was measured."""
    return 1e-4 if getattr(method, "softmax", "") == "captum" else 1e-5


def test_rows_do_not_influence_each_other(case):
    method, query = case
    single = torch.cat([method(rows(query, slice(i, i + 1))) for i in range(8)])
    assert_close(method(query), single, rtol=rounding(method), atol=1e-5)


def test_order_does_not_matter(case):
    method, query = case
    order = [3, 1, 7, 0, 2, 6, 5, 4]
    shuffled = replace(
        query, x=query.x[order], target=query.target[order], baseline=query.baseline[order], indices=tuple(order)
    )
    assert_close(method(shuffled), method(query)[order], rtol=rounding(method), atol=1e-5)


def test_a_tiny_memory_budget_changes_nothing_but_rounding(case):
    method, query = case
    small = replace(TINY, memory=query.footprint.gradient * 3)  # three rows a call
    assert_close(method(replace(query, machine=small)), method(query), rtol=rounding(method), atol=1e-5)


def test_the_model_and_the_input_are_left_as_they_were(case):
    method, query = case
    query.x.requires_grad_(False)
    model = query.setting.model
    before = state(model), copy.deepcopy(model.state_dict()), query.x.clone(), query.baseline.clone()
    method(query)
    assert state(model) == before[0]
    assert all(torch.equal(value, before[1][name]) for name, value in model.state_dict().items())
    assert torch.equal(query.x, before[2])
    assert torch.equal(query.baseline, before[3])
    assert not query.x.requires_grad
    assert query.x.grad is None
    assert all(parameter.requires_grad and parameter.grad is None for parameter in model.parameters())


def test_frozen_weights_stay_frozen_and_change_nothing(case):
    method, query = case
    expected = method(query)
    query.setting.model.requires_grad_(False)
    assert_close(method(query), expected, rtol=1e-6, atol=1e-6)
    assert not any(parameter.requires_grad for parameter in query.setting.model.parameters())


@pytest.mark.parametrize("calls", [0, 1, 2, 3])
@pytest.mark.parametrize(
    "method",
    [
        DeepShap(),
        DeepShap(skip="first"),
        Lrp(),
        GuidedBackprop(),
        GradCam("last.3"),
        SmoothGradCamPlusPlus("last.3", samples=2),
        ScoreCam("last.3"),
        IntegratedGradients(3),
    ],
)
def test_a_model_that_breaks_is_left_as_it_was_too(method, calls):
    sound = images()
    model = Broken(sound, 10)
    query = ask(model, data(4, 2, 8, 8), machine=TINY)
    expected = method(query)
    model.calls = calls
    before = state(model)
    broke = False
    try:
        method(query)
    except RuntimeError as error:
        broke = "broken in the middle" in str(error)
    assert broke or calls > 0
    assert state(model) == before
    model.calls = 10
    assert torch.equal(method(query), expected)
    assert torch.relu(torch.tensor([-1.0])).item() == 0  # nothing is answered outside of the scope
    assert not query.x.requires_grad


@pytest.mark.parametrize(
    "method",
    [
        Gradient(),
        IntegratedGradients(),
        GradientShap(),
        GuidedBackprop(),
        Lrp(),
        DeepShap(),
        GradCam(),
        GradCamPlusPlus(),
        LayerCam(),
        XGradCam(),
        SmoothGradCamPlusPlus(),
        Agop(),
        Smoothed(),
    ],
)
def test_models_without_gradients_are_an_answer(method):
    query = ask(images(), data(2, 2, 8, 8))
    blind = replace(query, setting=replace(query.setting, differentiable=False))
    with pytest.raises(NotApplicable, match="needs gradients"):
        fitted(method, blind) if hasattr(method, "fit") else method(blind)


@pytest.mark.parametrize("method", [RandomMap(), Constant(), Occlusion()])
def test_methods_without_gradients_do_not_need_them(method):
    query = ask(mlp(), data(2, 6))
    blind = replace(query, setting=replace(query.setting, differentiable=False))
    assert torch.equal(method(blind), method(query))
