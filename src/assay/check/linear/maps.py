"""Other maps made from the exact attribution: random, wrong, reordered, constant or equivalent ones."""

from __future__ import annotations

from itertools import permutations

import torch
from torch import Tensor

from assay.core.rng import generator
from assay.kit.feature_orders import average_ranks

RANDOM = 4  # random maps, and random orders
FEW_FEATURES = 4  # up to this number every order is tried


def random(exact: Tensor, which: int = 0) -> Tensor:
    """Standard normal numbers times the mean size of the exact map."""
    numbers = torch.randn(exact.shape, generator=generator("map", which, *exact.shape))
    return numbers * exact.abs().mean()


def reversed_sizes(exact: Tensor) -> Tensor:
    """Sizes in reverse order, all positive: the smallest where the largest belongs. For metrics that ignore signs."""
    sizes = exact.abs().flatten(1)
    order = sizes.argsort(dim=1)
    return torch.zeros_like(sizes).scatter(1, order, sizes.gather(1, order.flip(1))).view_as(exact)


def half_negated(exact: Tensor) -> Tensor:
    """The exact map with every second sample negated: one score of all samples shows which ones it is about."""
    sign = torch.tensor([1.0, -1.0])[torch.arange(len(exact)) % 2]
    return exact * sign.view(-1, *[1] * (exact.dim() - 1))


def wrong(exact: Tensor) -> dict[str, Tensor]:
    return {"the negated map": -exact, "sizes in reverse order": reversed_sizes(exact)}


def alternatives(exact: Tensor) -> dict[str, Tensor]:
    """Wrong maps, random maps and the exact numbers in other orders (all orders up to ``FEW_FEATURES`` features)."""
    unordered = wrong(exact) | {f"random map {which}": random(exact, which) for which in range(RANDOM)}
    flat = exact.flatten(1)
    count = flat.shape[1]
    if count <= FEW_FEATURES:
        orders = [torch.tensor(order) for order in permutations(range(count))][1:]
    else:
        orders = [torch.randperm(count, generator=generator("order", which, count)) for which in range(RANDOM)]
    return unordered | {
        f"order {order.tolist()}" if count <= FEW_FEATURES else f"order {which}": flat[:, order].view_as(exact)
        for which, order in enumerate(orders)
    }


def constant(exact: Tensor) -> dict[str, Tensor]:
    ones = torch.ones_like(exact)
    return {"zeros": 0 * ones, "ones": ones, "minus ones": -ones}


def half_constant(exact: Tensor, value: Tensor) -> Tensor:
    """The exact map with every second number replaced: by a constant map's ``value`` times the largest size."""
    largest = exact.flatten(1).abs().amax(dim=1).view(-1, *[1] * (exact.dim() - 1))
    even = torch.arange(exact[0].numel()).view(exact.shape[1:]) % 2 == 0
    return torch.where(even, largest * value, exact)


def one_changed(exact: Tensor, feature: int) -> tuple[Tensor, ...]:
    """The exact map with another number for one feature: far above all others, far below them, or zero."""
    largest = exact.flatten(1).abs().amax(dim=1)
    attributions = []
    for factor in (2.0, -2.0, 0.0):
        flat = exact.flatten(1).clone()
        flat[:, feature] = factor * largest
        attributions.append(flat.view_as(exact))
    return tuple(attributions)


def equivalent(exact: Tensor, invariance: str) -> dict[str, Tensor]:
    """Maps that a metric with this invariance (scale, shift or monotone) cannot tell from the exact one."""
    match invariance:
        case "scale":
            return {f"{factor:g} times the map": factor * exact for factor in (1024.0, 1 / 1024, 3.0)}
        case "shift":
            moved = {f"the map plus {step:g}": exact + step for step in (1.0, -64.0)}
            return {name: shifted for name, shifted in moved.items() if _same_order(shifted, exact)}
    return {"other sizes in the same order": _respaced(exact), "its cube": exact**3}


def _same_order(left: Tensor, right: Tensor) -> bool:
    """False where rounding made different values equal: 6e-8 + 1 and 0 + 1 are the same number."""
    return torch.equal(*(average_ranks(side.flatten(1)) for side in (left, right)))


def _respaced(exact: Tensor) -> Tensor:
    """Other distances, with the same signs and order of sizes: ranks become 1, 1.1, 100, 101, 101.1, 200, ..."""
    sizes = exact.abs().flatten(1)
    rank = torch.stack([row.unique(return_inverse=True)[1] for row in sizes])
    steps = torch.tensor([1.0, 1.1, 100.0])
    spaced = steps[rank % 3] + 100.0 * (rank // 3)
    return torch.where(sizes == 0, 0.0, spaced).view_as(exact) * exact.sign()
