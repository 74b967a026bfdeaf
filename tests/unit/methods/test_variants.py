"""Methods with other parameters keep every method's promises, also where a model's weights could still learn."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from torch import nn

from assay.check.contracts.fault import examine
from assay.check.contracts.method_case import MethodCase
from assay.check.contracts.methods import CONTRACTS
from assay.check.instruments.sites import Site
from assay.core.features import Columns, Pixels
from assay.core.question import Question
from assay.core.rng import Draws
from assay.core.setting import Reference, Samples, Setting
from assay.methods.agop import Agop
from assay.methods.cam import GradCam, GradCamPlusPlus, LayerCam, ScoreCam, SmoothGradCamPlusPlus, XGradCam
from assay.methods.coarse import Coarse
from assay.methods.combinators import Pooled
from assay.methods.deep_shap import DeepShap
from assay.methods.gradient import Gradient
from assay.methods.gradient_shap import GradientShap
from assay.methods.guided_backprop import GuidedBackprop
from assay.methods.iba import Iba
from assay.methods.integrated_gradients import IntegratedGradients
from assay.methods.lrp import Lrp
from assay.methods.lrp_composite import LrpComposite
from assay.methods.smoothed import Smoothed
from scenes import cnn, data, mlp

ANYWHERE = [
    Gradient(),
    IntegratedGradients(5, "gauss_legendre"),
    GradientShap(4, noise=0.2, background=3),
    GuidedBackprop(),
    DeepShap(softmax="captum", background=3),
    Agop(form="diagonal"),
    Agop(form="inverse"),
    Pooled(DeepShap(skip="0")),
    Smoothed(samples=3, reduce="variance"),
]
ON_IMAGES = [
    Lrp(0.1),
    LrpComposite(),
    Smoothed(Lrp(), samples=2),
    GradCam("1", relu=False),
    Pooled(GradCam("0")),
    LayerCam("1"),
    XGradCam("1", relu=False),
    GradCamPlusPlus("1"),
    GradCamPlusPlus(form="torchcam"),
    SmoothGradCamPlusPlus("1", samples=8),
    SmoothGradCamPlusPlus("1", samples=8, form="torchcam", maps="last"),
    Coarse(GradCam("1"), cells=3),
    ScoreCam(weights="increase"),
    Iba("1", steps=3, copies=3),
]
CASES = [*((method, False) for method in ANYWHERE), *((method, True) for method in [*ANYWHERE, *ON_IMAGES])]


@dataclass(frozen=True)
class Noise:
    """Rows of noise, seen by a network with random weights that ask for gradients: a table, or images and maxima."""

    image: bool

    def setting(self, seed, weights):
        x = data(32, *self.entries, seed=2)
        if not self.image:
            question = Question("probability", 2.0, 0.3, "label")
            return Setting(mlp(), Columns.plain(6), "table", question, reference=Reference(x, torch.arange(32) % 3))
        net = cnn(pool=lambda: nn.MaxPool2d(2))
        model = nn.Sequential(*net.body, nn.Flatten(), *net.head)
        question = Question("logit", 1.0, 0.3, "label")
        return Setting(model, Pixels(2, 8, 8), "image", question, reference=Reference(x, torch.arange(32) % 3))

    def sample(self, indices, seed):
        x = Draws([("noise", seed, index) for index in indices]).normal(*self.entries)
        return Samples(x, torch.tensor(indices) % 3, None, tuple(indices))

    @property
    def entries(self):
        return (2, 8, 8) if self.image else (6,)


SITES = {image: Site.of("images" if image else "table", Noise(image)) for image in (False, True)}


@pytest.mark.parametrize(("method", "image"), CASES, ids=lambda value: str(value))
def test_a_method_keeps_its_promises(method, image):
    case = MethodCase(str(method), method, SITES[image])
    assert all(weight.requires_grad for weight in case.site.setting.model.parameters())
    assert case.reason() == ""
    faults = examine(case, CONTRACTS)
    assert not faults, "\n".join(map(str, faults))
