"""Layer-wise relevance propagation with different rules for different layers (Kohlbrenner et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.query import Query
from assay.kit.propagation import First, Propagated
from assay.kit.shares import CONVOLUTIONS, AlphaBeta, Box, Epsilon, Gamma, Share, flat


@dataclass(frozen=True)
class LrpComposite:
    """Send the explained number back through the layers: dense ones by the epsilon rule, convolutions by another one.

    - ``epsilon_plus``: convolutions by the z+ rule, positive contributions only;
    - ``epsilon_gamma_box``: by the gamma rule, positive contributions favoured; layers that read the input by the box
      rule, which knows the smallest and largest value an input can have (Montavon et al., 2019), dense ones too (ours:
      zennit boxes a first convolution only, and leaves a first dense layer to epsilon);
    - ``epsilon_alpha2_beta1``: positive contributions count twice, negative ones against them once. An output without
      negative contributions hands on twice its relevance.

    With ``_flat``, layers that read the input share equally among the inputs that an output reads; a dense one gives
    every input the same.

    Activations hand on what they receive, max pooling gives to the winner, a sum of paths shares in proportion to its
    summands. Batch normalisation is merged into the layer right before it; elsewhere it is a layer of its own. An input
    that is only shifted, scaled or reshaped before its first layer gets that layer's relevance. Biases keep their share
    (of the box and the flat rule: nothing), so attributions sum to the score only without them. What no rule covers is
    not applicable, as for ``lrp``.
    """

    composite: Literal[
        "epsilon_plus",
        "epsilon_plus_flat",
        "epsilon_gamma_box",
        "epsilon_alpha2_beta1",
        "epsilon_alpha2_beta1_flat",
    ] = "epsilon_plus"  # which rules
    epsilon: float = 1e-6  # of dense layers: keeps small outputs from blowing up
    gamma: float = 0.25  # of epsilon_gamma_box: by how much positive contributions are favoured
    low: float | None = None  # of epsilon_gamma_box: the smallest value an input can have
    high: float | None = None  # of epsilon_gamma_box: the largest value an input can have

    paper: ClassVar[str] = "Kohlbrenner et al., 2020"

    def __post_init__(self) -> None:
        if not (self.epsilon > 0 and self.gamma >= 0):
            raise SpecError(
                f"lrp_composite: epsilon={self.epsilon}, gamma={self.gamma}: choose epsilon above 0, gamma 0 or more."
            )
        boxed = self.low is not None and self.high is not None and self.low < self.high
        if self.composite == "epsilon_gamma_box" and not boxed:
            raise SpecError(
                f"lrp_composite: epsilon_gamma_box needs low below high, the smallest and largest value an input can "
                f"have, not low={self.low}, high={self.high}."
            )

    def promised(self, query: Query) -> Tensor:
        """Conservation: relevance adds up to the score. What is missing, biases and epsilon have kept."""
        return query.score(query.x)

    def __call__(self, query: Query) -> Tensor:
        rules: dict[str, Share] = dict.fromkeys(CONVOLUTIONS, self._convolution())
        rules["linear"] = Epsilon(self.epsilon)
        return query.pull(Propagated(query.module, rules, self._first(query.x)), query.x)

    def _convolution(self) -> Share:
        if self.composite == "epsilon_gamma_box":
            return Gamma(self.gamma)
        return AlphaBeta(1.0, 0.0) if "plus" in self.composite else AlphaBeta(2.0, 1.0)

    def _first(self, x: Tensor) -> First | None:
        if self.composite.endswith("flat"):
            return lambda *_: flat
        if self.composite != "epsilon_gamma_box":
            return None
        low, high = self.low or 0.0, self.high or 0.0
        if bool(((x < low) | (x > high)).any()):
            raise NotApplicable(f"needs inputs from low={low} to high={high}, and some are not")
        return lambda rows, read, slope: _box(read + slope * (low - rows), read + slope * (high - rows))


def _box(one: Tensor, other: Tensor) -> Box:
    return Box(torch.minimum(one, other), torch.maximum(one, other))
