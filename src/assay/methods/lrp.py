"""Layer-wise relevance propagation, epsilon rule (Bach et al., 2015)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from assay.core.errors import SpecError
from assay.core.query import Query
from assay.kit.backward.graph import HOMOGENEOUS
from assay.kit.backward.lrp_rules import ACTIVATIONS, LAYERS, activation_passing_relevance, away_from_zero
from assay.kit.backward.rules import Call, RuledModule, call_with_rule


@dataclass(frozen=True)
class Lrp:
    """Propagate the explained number back through the layers, to each input in proportion to its contribution.

    A layer with output z = sum of contributions + bias and relevance R passes back R * contribution / (z + epsilon *
    sign z). Activations pass relevance on unchanged. Biases keep their share, so attributions do not sum to the score.

    With c = R / value this is a backward pass: layers pass on c * z / (z + epsilon * sign z), activations c * f(z) / z,
    and everything that is linear, or piecewise linear through the origin (ReLU, pooling, sums), its ordinary gradient.
    The attribution is x * c: input times gradient up to epsilon if all activations are ReLU. Layers are linear layers
    and convolutions, as modules or functions; a bare matrix product has epsilon 0. Softmax, normalisation by the
    sample's own statistics and attention have no such rule: not applicable (Captum refuses Softmax, too).
    """

    epsilon: float = 1e-9  # stabilises divisions by small outputs; the larger, the fewer contributions survive

    paper: ClassVar[str] = "Bach et al., 2015"

    def __post_init__(self) -> None:
        if not self.epsilon > 0:
            raise SpecError(f"lrp: epsilon must be positive, not {self.epsilon}.")

    def promised(self, query: Query) -> Tensor:
        """The paper's conservation: relevance sums to the score, except for the shares of biases and epsilon."""
        return query.score(query.x)

    def __call__(self, query: Query) -> Tensor:
        rules = dict.fromkeys(LAYERS, self._stabilised) | dict.fromkeys(ACTIVATIONS, activation_passing_relevance)
        return query.x * query.gradient_through(RuledModule(query.module, rules, HOMOGENEOUS), query.x)

    def _stabilised(self, call: Call, values: Tensor) -> Tensor:
        return call_with_rule(_copy, call(values), self._damp)

    def _damp(self, _call: Call, z: Tensor, grad: Tensor) -> Tensor:
        return grad * z / away_from_zero(z, self.epsilon)


def _copy(values: Tensor) -> Tensor:
    return values.clone()  # the model may change the output in place
