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
from assay.kit.backward.deeplift_rules import (
    Quotient,
    RescaledModule,
    centred_secant,
    class_secant,
    max_secant,
    secant,
    smooth_secant,
)
from assay.kit.backward.graph import ACTIVATIONS
from assay.kit.layers import find_layer
from assay.methods._background import background, change

PIECES = ("relu", "leaky_relu", "hardtanh", "relu6", "threshold")
CURVES = ("tanh", "sigmoid", "gelu", "silu", "elu", "selu", "softplus")
POOLS = ("max_pool1d", "max_pool2d", "max_pool3d")
PAIR_MEMORY = 1.5  # of a pair, in gradients: quotients need a layer's inputs and outputs for both sides
FEWEST_PAIRS = 64  # per call


@dataclass(frozen=True)
class DeepShap:
    """Replace every nonlinear function's derivative by change of output / change of input against the baseline.

    Completeness: attributions sum to score(x) - score(baseline). For probabilities this depends on the rule for
    Softmax. ``elementwise`` (as in shap) rescales each class by itself and keeps the sum; only what moves the class's
    own logit counts. ``captum`` then subtracts the mean over classes: what moves other logits counts against the class,
    and the sum is wrong. With a background, the attribution is the mean over that many reference rows, which replace
    the question's baseline.

    Activations and pooling may be modules or functions. Attention and layer normalisation have no rescale rule: not
    applicable.
    """

    softmax: Literal["elementwise", "captum"] = "elementwise"  # the rule for Softmax
    skip: str = ""  # name of a layer; inside it, all functions keep their plain gradients
    background: int = 0  # how many reference rows to average over; 0: the question's baseline alone

    paper: ClassVar[str] = "Lundberg and Lee, 2017"

    def __post_init__(self) -> None:
        if self.background < 0:
            raise SpecError(f"deep_shap: background counts rows, so it cannot be {self.background}.")

    @property
    def fit(self) -> Callable[[Query], dict[str, Tensor]]:
        """Draws the background; absent without a background, so that no reference data is needed."""
        if not self.background:
            raise AttributeError("deep_shap without a background fits nothing")
        return partial(background, count=self.background)

    @property
    def promised(self) -> Callable[[Query], Tensor]:
        """Absent if a layer is skipped, because plain gradients have no known sum."""
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
        """Every sample against every reference, averaged over references."""
        rescaled, total = self._rescaled_module(query), torch.zeros_like(query.x)
        reference_count, sample_count = _chunk_sizes(query, len(references))
        samples = torch.arange(len(query.x), device=query.x.device).split(sample_count)
        for chunk in references.split(reference_count):
            for rows in samples:
                x = query.x[rows]
                total[rows] += (
                    (x - chunk.unsqueeze(1)) * rescaled.gradients_to_all_references(x, query.target[rows], chunk)
                ).sum(dim=0)
        return total / len(references)

    def _paired(self, query: Query) -> Tensor:
        """Every sample against its own baseline."""
        multipliers = self._rescaled_module(query).gradients_to_own_reference(query.x, query.target, query.baseline)
        return (query.x - query.baseline) * multipliers

    def _rescaled_module(self, query: Query) -> RescaledModule:
        if not self.skip:
            return RescaledModule(query.module, self._quotients())
        skipped = list(find_layer(query.setting.model, self.skip).modules())
        return RescaledModule(query.module, self._quotients(), ACTIVATIONS, skipped)

    def _quotients(self) -> dict[str, Quotient]:
        softmax = centred_secant if self.softmax == "captum" else class_secant
        rules = {PIECES: secant, CURVES: smooth_secant, POOLS: max_secant, ("softmax",): softmax}
        return {name: rule for names, rule in rules.items() for name in names}


def _chunk_sizes(query: Query, references: int) -> tuple[int, int]:
    """How many references and how many samples are paired in one call, so that the pairs fit the memory budget."""
    pairs = query.machine.rows(int(PAIR_MEMORY * query.footprint.gradient), least=FEWEST_PAIRS)
    reference_count = min(references, max(isqrt(pairs), pairs // len(query.x)))
    return reference_count, max(1, pairs // reference_count)
