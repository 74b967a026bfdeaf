"""Exact Shapley values (Shapley, 1953), of the game of Lundberg and Lee (2017) with a baseline."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, prod
from typing import ClassVar

import torch
from torch import Tensor

from assay.core.errors import NotApplicable
from assay.core.query import Query
from assay.methods._coalitions import coalition_samples


@dataclass(frozen=True)
class ExactShapley:
    """What a feature adds to the score, averaged over all orders in which features can be added.

    v(S) is the score of the sample with the features outside S replaced by the baseline. With s of d features in S,
    v(S) has the weight +1 / (s C(d, s)) for features inside and -1 / ((d - s) C(d, s)) for those outside. All 2^d
    coalitions are evaluated. Attributions sum to score(x) - score(baseline). Needs no gradients.
    """

    limit: int = 16  # most features; the model evaluates all their coalitions

    paper: ClassVar[str] = "Shapley, 1953"

    def promised(self, query: Query) -> Tensor:
        return query.change()

    def __call__(self, query: Query) -> Tensor:
        shape = query.setting.features.shape
        count = prod(shape)
        if count > self.limit:
            raise NotApplicable(
                f"needs at most {self.limit} features, for 2^features model rows per sample, and there are {count}"
            )
        weights = _weights(count).to(query.x.device)
        total = torch.zeros(len(query.x), count, dtype=torch.float64, device=query.x.device)
        for part in query.parts(2**count):
            keep = _coalitions(part, count).to(query.x.device)
            scores = query.score(coalition_samples(query, keep.view(-1, *shape)))  # (part, B)
            size = keep.sum(dim=1)
            total += scores.T.double() @ torch.where(keep, weights[size, :1], weights[size, 1:])
        return total.to(query.x.dtype).view(-1, *shape)


def _coalitions(part: slice, count: int) -> Tensor:
    """Coalition number n keeps the features whose bits are set in n: bool (part, features)."""
    numbers = torch.arange(part.start, part.stop)[:, None]
    return (numbers >> torch.arange(count)) % 2 == 1


def _weights(count: int) -> Tensor:
    """The weight of a coalition's score by its size, for a feature inside and for one outside: (sizes, 2)."""
    inside = [0.0, *(1 / (size * comb(count, size)) for size in range(1, count + 1))]
    outside = [-1 / ((count - size) * comb(count, size)) for size in range(count)]
    return torch.tensor([inside, [*outside, 0.0]], dtype=torch.float64).T
