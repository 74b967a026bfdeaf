"""Methods for transformers keep every method's promises on a vision transformer, and on PyTorch's own layers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
import torch
from torch import nn

from assay.check.contracts.fault import examine
from assay.check.contracts.method_case import MethodCase
from assay.check.contracts.methods import CONTRACTS
from assay.check.instruments.sites import Site
from assay.core.features import Pixels, Tokens
from assay.core.question import Question
from assay.core.rng import Draws
from assay.core.setting import Samples, Setting
from assay.methods.attention import AttentionRollout, CheferGradient, CheferRelevance, VitGradCam
from assay.train.vit import initialise_vit, vit
from scenes import randomised

# What ReLU leaves of a map that is negative almost everywhere may be no larger than rounding: relu=False.
METHODS = [AttentionRollout(), CheferGradient(), CheferRelevance(start=0), VitGradCam(relu=False)]


class Encoder(nn.Module):
    """The last of 7 tokens answers; positions come before samples."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16)
        self.layers, self.head = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(8, 3)

    def forward(self, x):
        return self.head(self.layers(x.transpose(0, 1))[-1])


@dataclass(frozen=True)
class Noise:
    """Rows of noise, seen by a transformer with random weights."""

    image: bool

    def setting(self, seed, weights):
        question = Question("probability", 1.0, "zero", "label")
        if not self.image:
            return Setting(randomised(Encoder(), scale=0.3).requires_grad_(False), Tokens(7, 8), "tokens", question)
        model = vit(12, 4, 8, 2, 2, 3)
        initialise_vit(model, torch.Generator().manual_seed(seed))
        return Setting(model.eval(), Pixels(3, 12, 12), "image", question)

    def sample(self, indices, seed):
        x = Draws([("noise", seed, index) for index in indices]).normal(*((3, 12, 12) if self.image else (7, 8)))
        return Samples(x, torch.tensor(indices) % 3, None, tuple(indices))


@pytest.mark.parametrize("image", [True, pytest.param(False, marks=pytest.mark.full)], ids=["vit", "encoder"])
@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_a_method_keeps_its_promises(method, image):
    method = replace(method, reader=0 if image else -1)
    case = MethodCase(str(method), method, Site.of("vit" if image else "encoder", Noise(image), seed=3))
    assert case.reason() == ""
    faults = examine(case, CONTRACTS)
    assert not faults, "\n".join(map(str, faults))
    assert (case.plain(range(8)).flatten(1).std(dim=1) > 0).all()
