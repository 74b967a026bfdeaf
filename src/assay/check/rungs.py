"""The ladder: linear models on a few numbers, from the smallest upwards, where the exact attribution is known.

Class 0 is answered with w.x + b, class 1 with its negative; b is 0 but on a few rungs, and the class asked about wins
but on a few. Against a baseline of zeros, feature i contributes exactly w_i x_i to class 0. The first rung that shows a
fault is its witness.
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
MANY = 256  # features: more than a byte can count


@dataclass(frozen=True)
class Plan:
    """What a rung is made of."""

    samples: int
    entries: tuple[int, ...]
    tenths: bool = False  # numbers are tenths, which floats only approximate
    per_pixel: bool = False  # the map has one number per pixel
    bias: float = 0.0  # every second sample is won by class 1 then
    losers: bool = False  # every second sample is asked about the class that does not win


PLANS = (
    Plan(1, (2,)),
    Plan(2, (2,)),
    Plan(1, (3,)),
    Plan(2, (3,), bias=3.0),
    Plan(3, (3,), losers=True),
    Plan(5, (3,), tenths=True),
    Plan(4, (4,)),
    Plan(6, (12,), tenths=True),
    Plan(1, (MANY + 44,)),
    Plan(1, (1, 2, 2)),
    Plan(2, (1, 2, 2), bias=3.0),
    Plan(3, (1, 2, 2)),
    Plan(5, (1, 2, 2), losers=True),
    Plan(6, (1, 2, 2), tenths=True),
    Plan(2, (1, 2, 3)),
    Plan(4, (1, 4, 4), tenths=True),
    Plan(1, (3, 4, 4)),
    Plan(1, (3, 4, 4), per_pixel=True),
    Plan(3, (3, 2, 4)),
    Plan(3, (3, 2, 4), per_pixel=True),
    Plan(4, (3, 4, 4), tenths=True, per_pixel=True),
    Plan(4, (1, 8, 8)),
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
    bias: float = 0.0  # of class 0; that of class 1 is its negative
    draw: int = 0  # another number, other random sets: of metrics of ours, which do not look at the global seed
    losing: tuple[bool, ...] | None = None  # which samples are asked about the class that does not win; None: none

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
    def traits(self) -> tuple[str, ...]:
        """What it shows that the smallest rungs do not."""
        shown = {
            " of a map per pixel": self.per_pixel,
            " of images that are not square": self.kind == "image" and self.weights.shape[1] != self.weights.shape[2],
            " of a class that does not win": self.losing is not None and any(self.losing),
            " of a model with a bias": bool(self.bias),
            f" of more than {MANY} features": self.weights.numel() > MANY,
            " where numbers are tenths, which floats round": self.tenths,
        }
        return tuple(trait for trait, true in shown.items() if true)

    @cached_property
    def y(self) -> Tensor:
        """The class asked about (N,): the one that wins, but for samples that are ``losing``."""
        wins = self._products.flatten(1).sum(dim=1) + self.bias < 0
        return (wins != torch.tensor(self.losing) if self.losing else wins).long()

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
        """Answers ``offset + scale * (w.x + b)`` for class 0, ``offset - scale * (w.x + b)`` for class 1; made anew."""
        linear = nn.Linear(self.weights.numel(), 2, bias=bool(offset or self.bias))
        w = self.weights.flatten()
        with torch.no_grad():
            linear.weight.copy_(scale * torch.stack([w, -w]))
            if linear.bias is not None:
                linear.bias.copy_(offset + scale * torch.tensor([self.bias, -self.bias]))
        return nn.Sequential(nn.Flatten(), linear).eval().requires_grad_(False)

    def rows(self, index: Sequence[int]) -> Rung:
        """The same model, some of the samples."""
        losing = tuple(self.losing[row] for row in index) if self.losing else None
        return replace(self, x=self.x[list(index)], chosen=tuple(self.indices[row] for row in index), losing=losing)

    def told(self, attribution: Tensor | None, returned: object = None) -> str:
        """The numbers: weights, samples, attribution, what was returned."""
        parts = [self.name, f"w = {listed(self.weights)}"]
        parts += [f"b = {self.bias:g}"] if self.bias else []
        parts += [f"x = {listed(self.x)}"]
        parts += [f"y = {listed(self.y)}"] if self.bias or self.losing else []
        parts += [] if attribution is None else [f"attribution = {listed(attribution)}"]
        parts += [] if returned is None else [f"returned {returned}"]
        return "; ".join(parts)


@cache
def ladder() -> tuple[Rung, ...]:
    """All rungs, the one with the fewest numbers first."""
    return tuple(sorted(map(_rung, PLANS), key=lambda rung: rung.x.numel()))


def _rung(plan: Plan) -> Rung:
    """Whole numbers whose products differ in size; one in three speaks against, in larger rungs some do nothing.

    Numbers have both signs, so that a neighbour's number says nothing about a feature's own.
    """
    entries, count, places = plan.entries, prod(plan.entries), prod(plan.entries[-2:])
    index = torch.arange(count)
    weights = torch.where(index % 4 < 2, 1.0, -1.0) * (2 - index % 2)
    if places >= 8:
        weights = weights * (index % places % 4 != 3)
    stream = generator("rung", plan.samples, *entries, int(plan.tenths), int(plan.per_pixel))
    model = Rung(weights.view(entries), torch.empty(0, *entries), plan.per_pixel, plan.tenths, bias=plan.bias)
    x: list[Tensor] = []
    while len(x) < plan.samples:
        sizes = 2.0 * (1 + torch.randperm(count, generator=stream))
        effects = sizes * torch.where((index + len(x)) % 3 == 1, -1.0, 1.0)
        row = effects / torch.where(weights == 0, 1.0, weights)
        row = -row if plan.bias and len(x) % 2 else row
        if _telling(replace(model, x=row.view(1, *entries))):
            x.append(row)
    unit = 10.0 if plan.tenths else 1.0
    losing = tuple(bool(row % 2) for row in range(plan.samples)) if plan.losers else None
    rung = replace(model, weights=model.weights / unit, x=torch.stack(x).view(-1, *entries) / unit, losing=losing)
    largest = float(rung._products.abs().flatten(1).sum(dim=1).max()) + abs(plan.bias)
    return replace(rung, scale=2.0 ** -ceil(log2(2 * largest)))


def _telling(rung: Rung) -> bool:
    """No two features of one effect, and a class that wins clearly."""
    effects = rung.exact.flatten()
    acting = effects[effects != 0]
    margin = float(rung._products.sum() + rung.bias)
    return len(acting.unique()) == len(acting) and float(effects.sum()) >= 2 and abs(margin) >= 2


def listed(numbers: Tensor) -> str:
    """Numbers in brackets, one pair a sample; many are cut."""
    flat = numbers.flatten().tolist()
    shown = ", ".join(f"{number + 0.0:.6g}" for number in flat[:SHOWN])
    if len(flat) > SHOWN:
        return f"[{shown}, ... {len(flat)} numbers]"
    if numbers.dim() > 1 and len(numbers) > 1:
        return "[" + ", ".join(listed(row) for row in numbers) + "]"
    return f"[{shown}]"
