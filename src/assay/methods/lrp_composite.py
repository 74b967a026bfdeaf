"""Layer-wise relevance propagation with different rules for different layers (Kohlbrenner et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.query import Query
from assay.kit.backward.lrp_module import InputRule, LrpModule
from assay.kit.backward.lrp_rules import CONVOLUTIONS, AlphaBeta, Box, Epsilon, Gamma, LayerRule, flat_rule


@dataclass(frozen=True)
class LrpComposite:
    """Propagate the explained number back: dense layers by the epsilon rule, convolutions by another one.

    - ``epsilon_plus``: convolutions by the z+ rule, which takes positive contributions only;
    - ``epsilon_gamma_box``: convolutions by the gamma rule, which favours positive contributions. Layers that read the
      input, also dense ones, by the box rule, which uses the smallest and largest value an input can have (Montavon et
      al., 2019). Ours: zennit has the box rule for a first convolution only, and epsilon for a first dense layer;
    - ``epsilon_alpha2_beta1``: positive contributions count twice, negative ones once against them. An output without
      negative contributions passes on twice its relevance.

    With ``_flat``, layers that read the input divide relevance equally among the inputs that an output reads; a dense
    layer gives every input the same.

    Activations pass relevance on unchanged, max pooling passes it to the winner, a sum of paths divides it in
    proportion to its summands. Batch normalisation is merged into the layer right before it; elsewhere it is a layer of
    its own. An input that is only shifted, scaled or reshaped before its first layer gets that layer's relevance.
    Biases keep their share (none under the box and flat rules), so attributions sum to the score only without biases.
    Operations without a rule are not applicable, as for ``lrp``.
    """

    composite: Literal[
        "epsilon_plus",
        "epsilon_plus_flat",
        "epsilon_gamma_box",
        "epsilon_alpha2_beta1",
        "epsilon_alpha2_beta1_flat",
    ] = "epsilon_plus"  # which rules
    epsilon: float = 1e-6  # of dense layers: stabilises divisions by small outputs
    gamma: float = 0.25  # of epsilon_gamma_box: by how much positive contributions are favoured
    low: float | None = None  # of epsilon_gamma_box: the smallest value an input can have
    high: float | None = None  # of epsilon_gamma_box: the largest value an input can have

    paper: ClassVar[str] = "Kohlbrenner et al., 2020"

    def __post_init__(self) -> None:
        if not (self.epsilon > 0 and self.gamma >= 0):
            raise SpecError(
                f"lrp_composite: epsilon={self.epsilon}, gamma={self.gamma}: choose epsilon above 0, gamma 0 or more."
            )
        valid_box = self.low is not None and self.high is not None and self.low < self.high
        if self.composite == "epsilon_gamma_box" and not valid_box:
            raise SpecError(
                f"lrp_composite: epsilon_gamma_box needs low below high, the smallest and largest value an input can "
                f"have, not low={self.low}, high={self.high}."
            )

    def promised(self, query: Query) -> Tensor:
        """Conservation: relevance sums to the score, except for the shares of biases and epsilon."""
        return query.score(query.x)

    def __call__(self, query: Query) -> Tensor:
        rules: dict[str, LayerRule] = dict.fromkeys(CONVOLUTIONS, self._convolution())
        rules["linear"] = Epsilon(self.epsilon)
        return query.gradient_through(LrpModule(query.module, rules, self._first(query.x)), query.x)

    def _convolution(self) -> LayerRule:
        if self.composite == "epsilon_gamma_box":
            return Gamma(self.gamma)
        return AlphaBeta(1.0, 0.0) if "plus" in self.composite else AlphaBeta(2.0, 1.0)

    def _first(self, x: Tensor) -> InputRule | None:
        if self.composite.endswith("flat"):
            return lambda *_: flat_rule
        if self.composite != "epsilon_gamma_box":
            return None
        low, high = self.low or 0.0, self.high or 0.0
        if bool(((x < low) | (x > high)).any()):
            raise NotApplicable(f"needs inputs from low={low} to high={high}, and some are outside")
        return lambda rows, read, slope: _box(read + slope * (low - rows), read + slope * (high - rows))


def _box(first: Tensor, second: Tensor) -> Box:
    return Box(torch.minimum(first, second), torch.maximum(first, second))
