"""DeepLIFT's rescale rule (Shrikumar et al., 2017); DeepSHAP, its mean over a background (Lundberg and Lee, 2017)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import torch
from torch import Tensor

from assay.core.errors import SpecError
from assay.core.query import Query
from assay.kit.contrast import Contrast, Quotient, centred_secant, largest, secant, smooth_secant
from assay.kit.graph import ACTIVATIONS
from assay.kit.layers import layer
from assay.methods._background import background

PIECES = ("relu", "leaky_relu", "hardtanh", "relu6", "threshold")
CURVES = ("tanh", "sigmoid", "gelu", "silu", "elu", "softplus")
POOLS = ("max_pool1d", "max_pool2d", "max_pool3d")


@dataclass(frozen=True)
class DeepShap:
    """Replace every nonlinear function's derivative by change of output / change of input against the baseline.

    Completeness: attributions sum to score(x) - score(baseline) for the logit and value readouts. For probabilities,
    ``elementwise`` (as shap does) keeps that; ``captum`` subtracts the mean over classes and does not.
    With a background, the mean over that many reference rows takes the place of the question's baseline.

    ReLU, pooling and so on count whether they are modules or functions. Attention and layer normalisation have no
    rescale rule: not applicable.
    """

    softmax: Literal["captum", "elementwise"] = "captum"  # the rule for Softmax
    skip: str = ""  # a layer inside of which plain gradients are used, as if its functions were not seen
    background: int = 0  # how many reference rows to average over; 0: the question's baseline alone

    paper: ClassVar[str] = "Lundberg and Lee, 2017"

    def __post_init__(self) -> None:
        if self.background < 0:
            raise SpecError(f"deep_shap: background counts rows, so it cannot be {self.background}.")

    @property
    def fit(self) -> Callable[[Query], dict[str, Tensor]]:
        """Draws the background; absent without one, so that no reference data is needed."""
        if not self.background:
            raise AttributeError("deep_shap without a background fits nothing")
        return partial(background, count=self.background)

    def __call__(self, query: Query) -> Tensor:
        references = query.fitted["background"] if self.background else query.baseline
        if self.background or bool((references == references[:1]).all()):
            return self._mean(query, references if self.background else references[:1])
        return torch.cat([self._paired(block) for block in query.blocks(copies=2)])

    def _mean(self, query: Query, references: Tensor) -> Tensor:
        """Every sample against every reference."""
        total = torch.zeros_like(query.x)
        for part in query.parts(len(references), gradients=True):
            some = references[part]
            points = query.x.expand(len(some), *query.x.shape)
            total += ((points - some.unsqueeze(1)) * query.pull(self._contrast(query, some), points)).sum(dim=0)
        return total / len(references)

    def _paired(self, query: Query) -> Tensor:
        """Every sample against a baseline of its own."""
        return (query.x - query.baseline) * query.pull(self._contrast(query, query.baseline), query.x)

    def _contrast(self, query: Query, references: Tensor) -> Contrast:
        if not self.skip:
            return Contrast(query.module, references, self._quotients())
        spared = list(layer(query.setting.model, self.skip).modules())
        return Contrast(query.module, references, self._quotients(), ACTIVATIONS, spared)

    def _quotients(self) -> dict[str, Quotient]:
        softmax = centred_secant if self.softmax == "captum" else smooth_secant
        rules = {PIECES: secant, CURVES: smooth_secant, POOLS: largest, ("softmax",): softmax}
        return {name: rule for names, rule in rules.items() for name in names}
