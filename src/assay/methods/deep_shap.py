"""DeepLIFT's rescale rule (Shrikumar et al., 2017); DeepSHAP, its mean over a background (Lundberg and Lee, 2017)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import isqrt
from typing import ClassVar, Literal

import torch
from torch import Tensor

from assay.core.errors import SpecError
from assay.core.query import Query
from assay.kit.contrast import Contrast, Quotient, centred_secant, class_secant, largest, secant, smooth_secant
from assay.kit.graph import ACTIVATIONS
from assay.kit.layers import layer
from assay.methods._background import background, change

PIECES = ("relu", "leaky_relu", "hardtanh", "relu6", "threshold")
CURVES = ("tanh", "sigmoid", "gelu", "silu", "elu", "selu", "softplus")
POOLS = ("max_pool1d", "max_pool2d", "max_pool3d")
KEPT = 1.5  # memory of a pair, in gradients: quotients need what a layer read and made, for both sides
CACHE, FEWEST = 2**25, 64  # bytes of pairs that a processor is fastest with, but not fewer pairs than this


@dataclass(frozen=True)
class DeepShap:
    """Replace every nonlinear function's derivative by change of output / change of input against the baseline.

    Completeness: attributions sum to score(x) - score(baseline). For probabilities the rule for Softmax decides:
    ``elementwise`` (as shap does) rescales each class by itself and keeps the sum; only what moves the class's own
    logit counts. ``captum`` then subtracts the mean over classes: what moves other logits counts against the class, and
    the sum is off.
    With a background, the mean over that many reference rows takes the place of the question's baseline.

    ReLU, pooling and so on count whether they are modules or functions. Attention and layer normalisation have no
    rescale rule: not applicable.
    """

    softmax: Literal["elementwise", "captum"] = "elementwise"  # the rule for Softmax
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

    @property
    def promised(self) -> Callable[[Query], Tensor]:
        """Absent where a layer is skipped: plain gradients add up to nothing in particular."""
        if self.skip:
            raise AttributeError("deep_shap that skips a layer promises nothing")
        return change

    def __call__(self, query: Query) -> Tensor:
        query.require_gradients()
        if self.background:
            return self._mean(query, query.fitted["background"])
        if bool((query.baseline == query.baseline[:1]).all()):
            return self._mean(query, query.baseline[:1])
        return torch.cat([self._paired(block) for block in query.blocks(copies=2)])

    def _mean(self, query: Query, references: Tensor) -> Tensor:
        """Every sample against every reference."""
        contrast, total, (many, few) = self._contrast(query), torch.zeros_like(query.x), _sides(query, len(references))
        samples = torch.arange(len(query.x), device=query.x.device).split(few)
        for some in references.split(many):
            for rows in samples:
                x = query.x[rows]
                total[rows] += ((x - some.unsqueeze(1)) * contrast.crossed(x, query.target[rows], some)).sum(dim=0)
        return total / len(references)

    def _paired(self, query: Query) -> Tensor:
        """Every sample against a baseline of its own."""
        pulled = self._contrast(query).paired(query.x, query.target, query.baseline)
        return (query.x - query.baseline) * pulled

    def _contrast(self, query: Query) -> Contrast:
        if not self.skip:
            return Contrast(query.module, self._quotients())
        spared = list(layer(query.setting.model, self.skip).modules())
        return Contrast(query.module, self._quotients(), ACTIVATIONS, spared)

    def _quotients(self) -> dict[str, Quotient]:
        softmax = centred_secant if self.softmax == "captum" else class_secant
        rules = {PIECES: secant, CURVES: smooth_secant, POOLS: largest, ("softmax",): softmax}
        return {name: rule for names, rule in rules.items() for name in names}


def _sides(query: Query, references: int) -> tuple[int, int]:
    """How many references and how many samples meet in one call: their pairs fit the memory budget."""
    bytes_per_pair = int(KEPT * query.footprint.gradient)
    pairs = query.machine.rows(bytes_per_pair)
    if query.x.device.type == "cpu":
        pairs = min(pairs, max(FEWEST, CACHE // bytes_per_pair))
    many = min(references, max(isqrt(pairs), pairs // len(query.x)))
    return many, max(1, pairs // many)
