"""The ladder: linear models on a few numbers, from the smallest upwards, where the exact attribution is known.

Class 0 is answered with w.x, class 1 with -w.x; the class asked about is the one that wins. Against a baseline of
zeros, feature i contributes exactly w_i x_i to it. The first rung that shows a fault is its witness.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from math import ceil, log2, prod
from typing import Literal

import torch
from torch import Tensor, nn

from assay.core.features import Columns, Features, Pixels
from assay.core.rng import generator

SHOWN = 32  # numbers of one tensor in a witness
# samples, entries, whether numbers are tenths (which floats only approximate), whether the map is per pixel
PLAN: tuple[tuple[int, tuple[int, ...], bool, bool], ...] = (
    (1, (2,), False, False),
    (2, (2,), False, False),
    (1, (3,), False, False),
    (5, (3,), True, False),
    (4, (4,), False, False),
    (6, (12,), True, False),
    (1, (1, 2, 2), False, False),
    (3, (1, 2, 2), False, False),
    (6, (1, 2, 2), True, False),
    (4, (1, 4, 4), True, False),
    (1, (3, 4, 4), False, False),
    (1, (3, 4, 4), False, True),
    (4, (3, 4, 4), True, True),
    (4, (1, 8, 8), False, False),
)


@dataclass(frozen=True, eq=False)
class Rung:
    """A linear model and some samples."""

    weights: Tensor  # (*entries)
    x: Tensor  # (N, *entries)
    per_pixel: bool = False  # the map has one number per pixel, not one per channel of it
    tenths: bool = False  # numbers are tenths, which floats only approximate
    chosen: tuple[int, ...] | None = None  # which of the ladder's samples these are; None: all
    scale: float = 1.0  # a power of two that brings what any features of any sample add up to below 0.5

    def __len__(self) -> int:
        return len(self.x)

    @property
    def kind(self) -> Literal["image", "table"]:
        return "table" if self.weights.dim() == 1 else "image"

    @property
    def name(self) -> str:
        size = "x".join(map(str, self.weights.shape))
        what = f"{size} features" if self.kind == "table" else f"{size} images"
        what = what[:-1] if self.kind == "image" and len(self) == 1 else what
        start = f"{len(self)} sample{'s' * (len(self) > 1)} of " if self.kind == "table" else f"{len(self)} "
        return f"{start}{what}{', a map per pixel' if self.per_pixel else ''}"

    @property
    def trait(self) -> str:
        """What it shows that the smallest rungs do not."""
        if self.per_pixel:
            return " of a map per pixel"
        return " where numbers are tenths, which floats round" if self.tenths else ""

    @cached_property
    def y(self) -> Tensor:
        """The class that wins (N,)."""
        return (self._products.flatten(1).sum(dim=1) < 0).long()

    @cached_property
    def exact(self) -> Tensor:
        """What every feature contributes (N, *entries), or (N, 1, height, width)."""
        sign = (1 - 2 * self.y).to(self.x).view(-1, *[1] * self.weights.dim())
        found = sign * self._products
        return found.sum(dim=1, keepdim=True) if self.per_pixel else found

    @property
    def _products(self) -> Tensor:
        return self.weights * self.x

    @property
    def indices(self) -> tuple[int, ...]:
        return self.chosen or tuple(range(len(self)))

    @property
    def features(self) -> Features:
        return Columns.plain(len(self.weights)) if self.kind == "table" else Pixels(*self.weights.shape)

    def model(self, scale: float = 1.0, offset: float = 0.0) -> nn.Module:
        """Answers ``offset + scale * w.x`` for class 0 and ``offset - scale * w.x`` for class 1; made anew."""
        linear = nn.Linear(self.weights.numel(), 2, bias=offset != 0)
        w = self.weights.flatten()
        with torch.no_grad():
            linear.weight.copy_(scale * torch.stack([w, -w]))
            if linear.bias is not None:
                linear.bias.fill_(offset)
        return nn.Sequential(nn.Flatten(), linear).eval().requires_grad_(False)

    def rows(self, index: Sequence[int]) -> Rung:
        """The same model, some of the samples."""
        return replace(self, x=self.x[list(index)], chosen=tuple(self.indices[row] for row in index))

    def told(self, attribution: Tensor | None, returned: object = None) -> str:
        """The numbers: weights, samples, attribution, what was returned."""
        parts = [self.name, f"w = {listed(self.weights)}", f"x = {listed(self.x)}"]
        parts += [] if attribution is None else [f"attribution = {listed(attribution)}"]
        parts += [] if returned is None else [f"returned {returned}"]
        return "; ".join(parts)


@cache
def ladder() -> tuple[Rung, ...]:
    """All rungs, the one with the fewest numbers first."""
    rungs = [_rung(*plan) for plan in PLAN]
    return tuple(sorted(rungs, key=lambda rung: rung.x.numel()))


def _rung(samples: int, entries: tuple[int, ...], tenths: bool, per_pixel: bool) -> Rung:
    """Whole numbers whose products differ in size; one in three speaks against, in larger rungs some do nothing.

    Numbers have both signs, so that a neighbour's number says nothing about a feature's own.
    """
    count, places = prod(entries), prod(entries[-2:])
    index = torch.arange(count)
    weights = torch.where(index % 4 < 2, 1.0, -1.0) * (2 - index % 2)
    if places >= 8:
        weights = weights * (index % places % 4 != 3)
    stream = generator("rung", samples, *entries, int(tenths), int(per_pixel))
    x: list[Tensor] = []
    while len(x) < samples:
        effects = (
            2.0 * (1 + torch.randperm(count, generator=stream)) * torch.where((index + len(x)) % 3 == 1, -1.0, 1.0)
        )
        row = effects / torch.where(weights == 0, 1.0, weights)
        if _telling(Rung(weights.view(entries), row.view(1, *entries), per_pixel)):
            x.append(row)
    unit = 10.0 if tenths else 1.0
    rung = Rung(weights.view(entries) / unit, torch.stack(x).view(-1, *entries) / unit, per_pixel, tenths)
    largest = float(rung._products.abs().flatten(1).sum(dim=1).max())
    return replace(rung, scale=2.0 ** -ceil(log2(2 * largest)))


def _telling(rung: Rung) -> bool:
    """No two features of one effect, and a class that wins clearly."""
    effects = rung.exact.flatten()
    acting = effects[effects != 0]
    return len(acting.unique()) == len(acting) and float(effects.sum()) >= 2


def listed(numbers: Tensor) -> str:
    """Numbers in brackets, one pair a sample; many are cut."""
    flat = numbers.flatten().tolist()
    shown = ", ".join(f"{number + 0.0:.6g}" for number in flat[:SHOWN])
    if len(flat) > SHOWN:
        return f"[{shown}, ... {len(flat)} numbers]"
    if numbers.dim() > 1 and len(numbers) > 1:
        return "[" + ", ".join(listed(row) for row in numbers) + "]"
    return f"[{shown}]"
