"""Layer-wise relevance propagation, epsilon rule (Bach et al., 2015)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from assay.core.errors import SpecError
from assay.core.query import Query
from assay.kit.graph import HOMOGENEOUS
from assay.kit.rules import Call, Ruled, altered
from assay.kit.shares import ACTIVATIONS, LAYERS, away, passed


@dataclass(frozen=True)
class Lrp:
    """Send the explained number back through the layers, each input taking its share of what it contributed.

    A layer with output z = sum of contributions + bias hands on R * contribution / (z + epsilon * sign z); activations
    hand on what they receive. Biases keep their share, so attributions do not sum to the score.

    With c = R / value this is a backward pass: layers pass on c * z / (z + epsilon * sign z), activations c * f(z) / z,
    and everything that is linear, or piecewise linear through the origin (ReLU, pooling, sums), its ordinary gradient.
    The attribution is x * c: input times gradient up to epsilon where all activations are ReLU. Layers are linear ones
    and convolutions, as modules or functions; a bare matrix product has epsilon 0. Softmax, normalisation by the
    sample's own statistics and attention have no such rule: not applicable (Captum refuses Softmax, too).
    """

    epsilon: float = 1e-9  # keeps small outputs from blowing up; the larger, the fewer contributions survive

    paper: ClassVar[str] = "Bach et al., 2015"

    def __post_init__(self) -> None:
        if not self.epsilon > 0:
            raise SpecError(f"lrp: epsilon must be positive, not {self.epsilon}.")

    def promised(self, query: Query) -> Tensor:
        """The paper's conservation: relevance adds up to the score. What is missing, biases and epsilon have kept."""
        return query.score(query.x)

    def __call__(self, query: Query) -> Tensor:
        answers = dict.fromkeys(LAYERS, self._stabilised) | dict.fromkeys(ACTIVATIONS, passed)
        return query.x * query.pull(Ruled(query.module, answers, HOMOGENEOUS), query.x)

    def _stabilised(self, call: Call, values: Tensor) -> Tensor:
        return altered(_same, call(values), self._damp)

    def _damp(self, _call: Call, z: Tensor, grad: Tensor) -> Tensor:
        return grad * z / away(z, self.epsilon)


def _same(values: Tensor) -> Tensor:
    return values.clone()  # the model may go on in place
