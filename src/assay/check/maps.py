"""Maps that are not the exact attribution, made from it."""

from __future__ import annotations

from itertools import permutations

import torch
from torch import Tensor

from assay.core.rng import generator
from assay.kit.ranks import average_ranks

RANDOM = 4
FEW = 4  # features of which every order is tried


def random(exact: Tensor, which: int = 0) -> Tensor:
    """Standard normal numbers, of the exact map's size."""
    numbers = torch.randn(exact.shape, generator=generator("map", which, *exact.shape))
    return numbers * exact.abs().mean()


def misplaced(exact: Tensor) -> Tensor:
    """The smallest size where the largest belongs, and so on; all speak for it. For metrics that ignore signs."""
    sizes = exact.abs().flatten(1)
    order = sizes.argsort(dim=1)
    return torch.zeros_like(sizes).scatter(1, order, sizes.gather(1, order.flip(1))).view_as(exact)


def half_negated(exact: Tensor) -> Tensor:
    """Right for every second sample: what is said about all of them shows who was asked."""
    sign = torch.tensor([1.0, -1.0])[torch.arange(len(exact)) % 2]
    return exact * sign.view(-1, *[1] * (exact.dim() - 1))


def wrong(exact: Tensor) -> dict[str, Tensor]:
    return {"the negated map": -exact, "sizes in reverse order": misplaced(exact)}


def others(exact: Tensor) -> dict[str, Tensor]:
    """A fixed set of maps: wrong ones, random ones, the exact numbers in another order (all orders of few)."""
    found = wrong(exact) | {f"random map {which}": random(exact, which) for which in range(RANDOM)}
    flat = exact.flatten(1)
    count = flat.shape[1]
    if count <= FEW:
        orders = [torch.tensor(order) for order in permutations(range(count))][1:]
    else:
        orders = [torch.randperm(count, generator=generator("order", which, count)) for which in range(RANDOM)]
    return found | {
        f"order {order.tolist()}" if count <= FEW else f"order {which}": flat[:, order].view_as(exact)
        for which, order in enumerate(orders)
    }


def constant(exact: Tensor) -> dict[str, Tensor]:
    ones = torch.ones_like(exact)
    return {"zeros": 0 * ones, "ones": ones, "minus ones": -ones}


def half_constant(exact: Tensor, value: Tensor) -> Tensor:
    """The exact map, every second of its numbers replaced by a constant map's, of the size of the largest."""
    largest = exact.flatten(1).abs().amax(dim=1).view(-1, *[1] * (exact.dim() - 1))
    second = torch.arange(exact[0].numel()).view(exact.shape[1:]) % 2 == 0
    return torch.where(second, largest * value, exact)


def one_changed(exact: Tensor, feature: int) -> tuple[Tensor, ...]:
    """The exact map with another number for one feature: far above all others, far below them, and zero."""
    largest = exact.flatten(1).abs().amax(dim=1)
    found = []
    for factor in (2.0, -2.0, 0.0):
        flat = exact.flatten(1).clone()
        flat[:, feature] = factor * largest
        found.append(flat.view_as(exact))
    return tuple(found)


def changed(exact: Tensor, invariance: str) -> dict[str, Tensor]:
    """Maps that say the same to a metric that does not look at scale, at a shift, or at anything but the order."""
    match invariance:
        case "scale":
            return {f"{factor:g} times the map": factor * exact for factor in (1024.0, 1 / 1024, 3.0)}
        case "shift":
            moved = {f"the map plus {step:g}": exact + step for step in (1.0, -64.0)}
            return {name: found for name, found in moved.items() if _same_order(found, exact)}
    return {"other sizes in the same order": _respaced(exact), "its cube": exact**3}


def _same_order(left: Tensor, right: Tensor) -> bool:
    """Whether rounding made no two values equal that differed: 6e-8 and 0, plus 1, are one number."""
    return torch.equal(*(average_ranks(side.flatten(1)) for side in (left, right)))


def _respaced(exact: Tensor) -> Tensor:
    """Signs and the order of sizes stay, distances do not: 1, 2, 3 becomes 1, 1.1, 100, then 101, 101.1, 200."""
    sizes = exact.abs().flatten(1)
    rank = torch.stack([row.unique(return_inverse=True)[1] for row in sizes])
    steps = torch.tensor([1.0, 1.1, 100.0])
    spaced = steps[rank % 3] + 100.0 * (rank // 3)
    return torch.where(sizes == 0, 0.0, spaced).view_as(exact) * exact.sign()
