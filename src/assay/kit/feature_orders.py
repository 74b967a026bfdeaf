"""Orders of features, sums over nested sets of features, and correlation."""

from __future__ import annotations

import torch
from torch import Tensor

BUDGET = 2**22  # numbers held at once by nested_sums


def descending_order(values: Tensor, shuffle: Tensor | None = None) -> Tensor:
    """The order (B, P) of features, largest value first; equal values in reading order, or in that of ``shuffle``."""
    if shuffle is None:
        return values.argsort(dim=1, descending=True, stable=True)
    shuffled = values.gather(1, shuffle)
    return shuffle.gather(1, shuffled.argsort(dim=1, descending=True, stable=True))


def positions(order: Tensor) -> Tensor:
    """The position of every feature in an order (..., P): the inverse permutation."""
    position = torch.arange(order.shape[-1], device=order.device)
    return torch.empty_like(order).scatter_(-1, order, position.expand_as(order))


def average_ranks(values: Tensor) -> Tensor:
    """Ranks 1, ..., P over the last dimension (..., P), float64, smallest first; equal values share their average."""
    ordered, order = values.sort(dim=-1)
    position = torch.arange(1, values.shape[-1] + 1, device=values.device, dtype=torch.float64).expand(values.shape)
    rises = ordered[..., 1:] != ordered[..., :-1]
    edge = torch.ones_like(ordered[..., :1], dtype=torch.bool)
    first = position.where(torch.cat([edge, rises], dim=-1), 0.0).cummax(dim=-1).values
    last = position.where(torch.cat([rises, edge], dim=-1), torch.inf).flip(-1).cummin(dim=-1).values.flip(-1)
    return torch.empty_like(first).scatter_(-1, order, (first + last) / 2)


def spearman(left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
    """Rank correlation over the last dimension, and where it is defined: with a constant side it is undefined and 0."""
    zero = torch.zeros((), dtype=torch.float64, device=left.device)
    return pearson(average_ranks(left), average_ranks(right), zero, zero)


def spearman_ceiling(values: Tensor) -> Tensor:
    """The largest rank correlation of ``values`` (..., P) with numbers without ties; 0 if constant.

    Equal values share a rank, distinct numbers do not: the best correlation is the ratio of the two spreads.
    """
    count = values.shape[-1]
    spread = (average_ranks(values) - (count + 1) / 2).square().sum(dim=-1)
    return (spread / max(0.5, count * (count**2 - 1) / 12)).sqrt()  # 0.5 is the spread of two ranks; one rank has none


def among_largest(values: Tensor, count: Tensor, ties: str) -> Tensor:
    """The probability (B, P) that a feature is among the ``count`` (B,) largest of ``values`` (B, P), float64.

    It is 0 or 1 where equal values are ordered by reading order ("stable"). Where they are ordered at random
    ("random"), features that tie for the last ranks share them evenly: a sum over features is then the mean over all
    random orders.
    """
    count = count[:, None]
    if ties == "stable":
        return (positions(descending_order(values)) < count).double()
    last = values.sort(dim=1, descending=True).values.gather(1, (count - 1).clamp(min=0))
    above, tied = values > last, values == last
    remaining = count - above.sum(dim=1, keepdim=True)
    return above.double() + tied * remaining.double() / tied.sum(dim=1, keepdim=True)


def nested_sums(values: Tensor, orders: Tensor, sizes: Tensor) -> Tensor:
    """Sums (B, R, S) of ``values`` (B, P) over the first N features of each order (R, P), for every N of ``sizes``.

    ``sizes`` ascend. Features are rows while they are picked, so that picking one copies B consecutive numbers. Each
    stretch between two sizes is added once: ten times faster than a cumulative sum along every order at 224 x 224.
    """
    rows = values.double().T.contiguous()
    chunks = torch.split(orders, max(1, BUDGET // rows.numel()))
    return torch.cat([_sums(rows, chunk, sizes.tolist()) for chunk in chunks]).permute(2, 0, 1)


def _sums(rows: Tensor, orders: Tensor, sizes: list[int]) -> Tensor:
    picked = rows[orders[:, : sizes[-1]]]  # (R, N, B)
    stretches = [picked[:, start:stop].sum(dim=1) for start, stop in zip([0, *sizes], sizes, strict=False)]
    return torch.stack(stretches, dim=1).cumsum(dim=1)  # (R, S, B)


def pearson(left: Tensor, right: Tensor, flat_left: Tensor, flat_right: Tensor) -> tuple[Tensor, Tensor]:
    """Correlation over the last dimension, and where it is defined.

    A side whose values lie within its ``flat`` of each other is constant: there the correlation is undefined and 0.
    """
    defined = (_spread(left) > flat_left) & (_spread(right) > flat_right)
    product = (_unit(left) * _unit(right)).sum(dim=-1).clamp(-1, 1)
    return product.where(defined, 0.0), defined


def _spread(values: Tensor) -> Tensor:
    return values.amax(dim=-1) - values.amin(dim=-1)


def _unit(values: Tensor) -> Tensor:
    centred = values.double() - values.double().mean(dim=-1, keepdim=True)
    largest = centred.abs().amax(dim=-1, keepdim=True)
    centred = centred / torch.where(largest > 0, largest, 1.0)  # tiny values must not vanish when squared
    return torch.nn.functional.normalize(centred, dim=-1)


def among_first(position: Tensor, counts: Tensor) -> Tensor:
    """(K, ...) True for features with a ``position`` (B, ...) among the first ``counts`` (K,) or (K, B) of an order."""
    return position < counts.reshape(*counts.shape, *[1] * (position.dim() + 1 - counts.dim()))


def above_thresholds(level: Tensor, thresholds: Tensor) -> Tensor:
    """(K, ...) True for features whose ``level`` (...) is strictly greater than ``thresholds`` (K,)."""
    return level > thresholds.view(-1, *[1] * level.dim())
