"""KernelSHAP (Lundberg and Lee, 2017), with paired coalitions (Covert and Lee, 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb, prod
from typing import ClassVar

import torch
from torch import Generator, Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.query import Query
from assay.methods._coalitions import coalition_samples


@dataclass(frozen=True)
class KernelShap:
    """Shapley values by weighted least squares on the scores of some coalitions.

    v(S) is the score of the sample with the features outside S replaced by the baseline. The Shapley values are the
    linear model that fits v best under the Shapley kernel, on condition that they sum to v(all) - v(none). Coalitions
    come with their complements. Starting with the smallest and largest, sizes are taken completely while ``samples``
    lasts (as in shap); coalitions of the other sizes are drawn. All samples of a series share the coalitions, so that
    one solve serves all. Exact when ``samples`` reaches 2^features - 2, and always complete. Needs no gradients.

    Ours: one baseline, the question's. shap averages v over a background of rows, which is another game.
    """

    samples: int | None = None  # number of coalitions; None: 2 * features + 2048
    limit: int = 256  # most features

    paper: ClassVar[str] = "Lundberg and Lee, 2017"

    def __post_init__(self) -> None:
        if self.samples is not None and self.samples < 2:
            raise SpecError(
                f"kernel_shap: samples={self.samples} is too few for a coalition and its complement. Choose 2 or more."
            )

    def promised(self, query: Query) -> Tensor:
        return query.change()

    def __call__(self, query: Query) -> Tensor:
        shape = query.setting.features.shape
        half, weight = _design(prod(shape), self._pairs(prod(shape)), query.generator("coalitions"))
        keep = torch.cat([half, ~half]).to(query.x.device).view(-1, *shape)
        scores = query.score_each(len(keep), lambda part: coalition_samples(query, keep[part])).double()
        inside, outside = scores.split(len(half))
        values = _solve(half.to(query.x.device), weight.to(query.x.device), inside - outside)
        return values.to(query.x.dtype).view(-1, *shape)

    def _pairs(self, count: int) -> int:
        """The number of coalitions that are evaluated together with their complements."""
        if count > self.limit:
            raise NotApplicable(
                f"needs at most {self.limit} features, because its regression takes several coalitions for each, "
                f"and there are {count} (occlusion and rise take more)"
            )
        samples, most = self.samples or 2 * count + 2048, int(2**count) - 2
        if samples < min(2 * count, most):
            raise NotApplicable(f"needs at least two coalitions per feature, {2 * count} here, but samples={samples}")
        return min(samples, most) // 2


def _solve(half: Tensor, weight: Tensor, differences: Tensor) -> Tensor:
    """The best values (B, features), given ``differences`` v(S) - v(not S) (pairs, B) of the coalitions in ``half``.

    The first coalition has all features. The values are an equal share of v(all) - v(none) plus a deviation u with sum
    0. A pair then states sum_S u - sum_notS u = v(S) - v(not S) - (2 s / d - 1) (v(all) - v(none)), and its left side
    is 2 (1_S - s / d) u. The least-norm solution keeps u's sum at 0: efficiency holds exactly.
    """
    inside = half.double()
    share = inside.mean(dim=1, keepdim=True)  # s / d
    centred = 2 * (inside - share)
    weighted = weight[:, None] * centred
    moment = weighted.T @ (differences - (2 * share - 1) * differences[0])  # (features, B)
    deviation = torch.linalg.pinv(weighted.T @ centred, rtol=1e-10, hermitian=True) @ moment
    values: Tensor = differences[0, :, None] / half.shape[1] + deviation.T
    return values


def _design(count: int, pairs: int, stream: Generator) -> tuple[Tensor, Tensor]:
    """All features, then ``pairs`` coalitions of at most half of them, no two complements: bool, and their weights.

    The Shapley kernel gives sizes s and d - s a share that is proportional to 1 / (s (d - s)). A size is taken
    completely if its share of the remaining ``pairs`` is enough for all its coalitions.
    """
    sizes = list(range(1, count // 2 + 1))
    shares = [(1 if 2 * size == count else 2) / (size * (count - size)) for size in sizes]
    halves, weights = [torch.ones(1, count, dtype=torch.bool)], [torch.zeros(1, dtype=torch.float64)]
    while sizes and pairs * shares[0] / sum(shares) >= _coalition_count(count, sizes[0]) - 1e-6:
        halves.append(_all_coalitions(count, sizes.pop(0)))
        weights.append(torch.full((len(halves[-1]),), shares.pop(0) / len(halves[-1]), dtype=torch.float64))
        pairs -= len(halves[-1])
    if sizes and pairs:
        counts = _allocate(shares, pairs, stream)
        halves += [_draw_coalitions(count, size, many, stream) for size, many in zip(sizes, counts, strict=True)]
        weights.append(torch.full((pairs,), sum(shares) / pairs, dtype=torch.float64))
    return torch.cat(halves), torch.cat(weights)


def _coalition_count(count: int, size: int) -> int:
    """The number of coalitions of this size, complements counted once."""
    return comb(count, size) // (2 if 2 * size == count else 1)


def _allocate(shares: list[float], pairs: int, stream: Generator) -> list[int]:
    """``pairs`` divided by shares, each rounded up or down at random (systematic sampling)."""
    share = torch.tensor(shares, dtype=torch.float64)
    ends = pairs * share.cumsum(0) / share.sum()
    ends[-1] = pairs
    offset = torch.rand((), generator=stream, dtype=torch.float64)
    return (ends + offset).floor().long().diff(prepend=torch.zeros(1, dtype=torch.long)).tolist()


def _all_coalitions(count: int, size: int) -> Tensor:
    """Every coalition of a size; for half the features, only those with the first feature, which come first."""
    members = torch.tensor(list(combinations(range(count), size))[: _coalition_count(count, size)])
    return torch.zeros(len(members), count, dtype=torch.bool).scatter_(1, members, True)


def _draw_coalitions(count: int, size: int, many: int, stream: Generator) -> Tensor:
    """``many`` different coalitions of a size, each equally likely."""
    if many > (most := _coalition_count(count, size)):
        raise ValueError(f"cannot draw {many} different coalitions of {size} of {count} features: there are {most}")
    coalitions = torch.zeros(0, count, dtype=torch.bool)
    while len(coalitions) < many:
        candidates = torch.rand(2 * many, count, generator=stream).argsort(dim=1) < size
        if 2 * size == count:
            candidates = candidates ^ ~candidates[:, :1]  # its complement where the first feature is missing
        coalitions = torch.cat([coalitions, candidates]).unique(dim=0)
    return coalitions[torch.randperm(len(coalitions), generator=stream)[:many]]
