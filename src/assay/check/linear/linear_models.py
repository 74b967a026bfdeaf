"""Linear models of a few numbers, from the smallest upwards, whose exact attributions are known.

The model answers w.x + b for class 0 and its negative for class 1. In most problems b is 0, and the class that wins is
explained. Against a baseline of zeros, feature i contributes exactly w_i x_i to class 0. The first problem that shows a
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

SHOWN = 32  # numbers of one tensor that a witness lists
MANY_FEATURES = 256  # more than a byte can count


@dataclass(frozen=True)
class Plan:
    """The sizes and properties of one linear problem."""

    samples: int
    entries: tuple[int, ...]
    tenths: bool = False  # numbers are tenths, which floats only approximate
    per_pixel: bool = False  # the map has one number per pixel
    bias: float = 0.0  # if not 0, class 1 wins every second sample
    losers: bool = False  # of every second sample, the class that does not win is explained


PLANS = (
    Plan(1, (2,)),
    Plan(2, (2,)),
    Plan(1, (3,)),
    Plan(2, (3,), bias=3.0),
    Plan(3, (3,), losers=True),
    Plan(5, (3,), tenths=True),
    Plan(4, (4,)),
    Plan(6, (12,), tenths=True),
    Plan(1, (MANY_FEATURES + 44,)),
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
class LinearProblem:
    """A linear model with some samples and their exact attributions."""

    weights: Tensor  # (*entries)
    x: Tensor  # (N, *entries)
    per_pixel: bool = False  # the map has one number per pixel, not one per channel
    tenths: bool = False  # numbers are tenths, which floats only approximate
    chosen: tuple[int, ...] | None = None  # indices among the samples of the whole problem; None: all of them
    scale: float = 1.0  # a power of two by which the sum of any features of any sample is below 0.5
    bias: float = 0.0  # of class 0; that of class 1 is its negative
    seed: int = 0  # of the stream of our own metrics, which ignore the global seed
    losing: tuple[bool, ...] | None = None  # samples whose explained class does not win; None: none

    def __len__(self) -> int:
        return len(self.x)

    @property
    def kind(self) -> Literal["image", "table"]:
        return "table" if self.weights.dim() == 1 else "image"

    @property
    def name(self) -> str:
        size = "x".join(map(str, self.weights.shape))
        noun = f"{size} features" if self.kind == "table" else f"{size} images"
        noun = noun[:-1] if self.kind == "image" and len(self) == 1 else noun
        start = f"{len(self)} sample{'s' * (len(self) > 1)} of " if self.kind == "table" else f"{len(self)} "
        return f"{start}{noun}{', a map per pixel' if self.per_pixel else ''}"

    @property
    def traits(self) -> tuple[str, ...]:
        """Properties that the smallest problems do not have, as ends of a message."""
        traits = {
            " of a map per pixel": self.per_pixel,
            " of images that are not square": self.kind == "image" and self.weights.shape[1] != self.weights.shape[2],
            " of a class that does not win": self.losing is not None and any(self.losing),
            " of a model with a bias": bool(self.bias),
            f" of more than {MANY_FEATURES} features": self.weights.numel() > MANY_FEATURES,
            " where numbers are tenths, which floats round": self.tenths,
        }
        return tuple(trait for trait, present in traits.items() if present)

    @cached_property
    def y(self) -> Tensor:
        """The explained class (N,): the one that wins, except for ``losing`` samples."""
        class_1_wins = self._products.flatten(1).sum(dim=1) + self.bias < 0
        return (class_1_wins != torch.tensor(self.losing) if self.losing else class_1_wins).long()

    @cached_property
    def exact(self) -> Tensor:
        """The exact attribution: the contribution of every entry (N, *entries), or per pixel (N, 1, height, width)."""
        sign = (1 - 2 * self.y).to(self.x).view(-1, *[1] * self.weights.dim())
        effects = sign * self._products
        return effects.sum(dim=1, keepdim=True) if self.per_pixel else effects

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
        """A new model, answering ``offset + scale * (w.x + b)`` and, for class 1, ``offset - scale * (w.x + b)``."""
        linear = nn.Linear(self.weights.numel(), 2, bias=bool(offset or self.bias), device="meta")  # draws no weights
        linear.to_empty(device="cpu")
        w = self.weights.flatten()
        with torch.no_grad():
            linear.weight.copy_(scale * torch.stack([w, -w]))
            if linear.bias is not None:
                linear.bias.copy_(offset + scale * torch.tensor([self.bias, -self.bias]))
        return nn.Sequential(nn.Flatten(), linear).eval().requires_grad_(False)

    def rows(self, index: Sequence[int]) -> LinearProblem:
        """The same model with the samples of these rows."""
        losing = tuple(self.losing[row] for row in index) if self.losing else None
        return replace(self, x=self.x[list(index)], chosen=tuple(self.indices[row] for row in index), losing=losing)

    def describe(self, attribution: Tensor | None, returned: object = None) -> str:
        """The problem as text, for a witness: weights, samples, attribution, and what the metric returned."""
        parts = [self.name, f"w = {format_numbers(self.weights)}"]
        parts += [f"b = {self.bias:g}"] if self.bias else []
        parts += [f"x = {format_numbers(self.x)}"]
        parts += [f"y = {format_numbers(self.y)}"] if self.bias or self.losing else []
        parts += [] if attribution is None else [f"attribution = {format_numbers(attribution)}"]
        parts += [] if returned is None else [f"returned {returned}"]
        return "; ".join(parts)


@cache
def linear_problems() -> tuple[LinearProblem, ...]:
    """All linear problems, the one with the fewest numbers first."""
    return tuple(sorted(map(_make_problem, PLANS), key=lambda problem: problem.x.numel()))


def _make_problem(plan: Plan) -> LinearProblem:
    """Whole numbers (or tenths) whose products differ in size.

    One product in three is negative; in larger problems some weights are 0. Weights and samples have both signs, so
    that a neighbour's number says nothing about a feature's own.
    """
    entries, count, pixels = plan.entries, prod(plan.entries), prod(plan.entries[-2:])
    index = torch.arange(count)
    weights = torch.where(index % 4 < 2, 1.0, -1.0) * (2 - index % 2)
    if pixels >= 8:
        weights = weights * (index % pixels % 4 != 3)
    # "rung" only names the stream: another word would draw other samples.
    stream = generator("rung", plan.samples, *entries, int(plan.tenths), int(plan.per_pixel))
    model = LinearProblem(weights.view(entries), torch.empty(0, *entries), plan.per_pixel, plan.tenths, bias=plan.bias)
    rows: list[Tensor] = []
    while len(rows) < plan.samples:
        sizes = 2.0 * (1 + torch.randperm(count, generator=stream))
        effects = sizes * torch.where((index + len(rows)) % 3 == 1, -1.0, 1.0)
        row = effects / torch.where(weights == 0, 1.0, weights)
        row = -row if plan.bias and len(rows) % 2 else row
        if _unambiguous(replace(model, x=row.view(1, *entries))):
            rows.append(row)
    unit = 10.0 if plan.tenths else 1.0
    losing = tuple(bool(row % 2) for row in range(plan.samples)) if plan.losers else None
    problem = replace(model, weights=model.weights / unit, x=torch.stack(rows).view(-1, *entries) / unit, losing=losing)
    largest = float(problem._products.abs().flatten(1).sum(dim=1).max()) + abs(plan.bias)
    return replace(problem, scale=2.0 ** -ceil(log2(2 * largest)))


def _unambiguous(problem: LinearProblem) -> bool:
    """True where no two features have the same effect and one class wins clearly."""
    effects = problem.exact.flatten()
    acting = effects[effects != 0]
    margin = float(problem._products.sum() + problem.bias)
    return len(acting.unique()) == len(acting) and float(effects.sum()) >= 2 and abs(margin) >= 2


def format_numbers(numbers: Tensor) -> str:
    """Numbers in brackets, one pair of brackets per sample; long lists are cut."""
    flat = numbers.flatten().tolist()
    shown = ", ".join(f"{number + 0.0:.6g}" for number in flat[:SHOWN])
    if len(flat) > SHOWN:
        return f"[{shown}, ... {len(flat)} numbers]"
    if numbers.dim() > 1 and len(numbers) > 1:
        return "[" + ", ".join(format_numbers(row) for row in numbers) + "]"
    return f"[{shown}]"
