"""Samples of the environment ``linear``, from the smallest upwards: the first that shows a fault is its witness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import starmap
from math import ceil, log2
from typing import Any, Literal

from torch import Tensor, nn

from assay.core.features import Features
from assay.core.setting import Samples
from assay.environments.linear import Linear, linear_model

SEED = 0  # of weights, which are the same for every seed
SHOWN = 32  # numbers of one tensor that a witness lists
MANY_FEATURES = 256  # more than a byte can count


def _whole(samples: int, *shape: int, **params: Any) -> tuple[int, Linear]:
    return samples, Linear(shape, **({"weights": "whole"} | params))


PLANS = (  # the number of samples, and the environment that draws them
    _whole(1, 2),
    _whole(2, 2),
    _whole(1, 3),
    _whole(2, 3, bias=3.0),  # class 1 wins every second sample
    _whole(3, 3, losers=True),
    _whole(5, 3, weights="tenths"),
    _whole(4, 4),
    _whole(6, 12, weights="tenths"),
    _whole(1, MANY_FEATURES + 44),
    _whole(1, 1, 2, 2),
    _whole(2, 1, 2, 2, bias=3.0),
    _whole(3, 1, 2, 2),
    _whole(5, 1, 2, 2, losers=True),
    _whole(6, 1, 2, 2, weights="tenths"),
    _whole(2, 1, 2, 3),
    _whole(4, 1, 4, 4, weights="tenths"),
    _whole(1, 3, 4, 4),
    _whole(1, 3, 4, 4, per_pixel=True),
    _whole(3, 3, 2, 4),
    _whole(3, 3, 2, 4, per_pixel=True),
    _whole(4, 3, 4, 4, weights="tenths", per_pixel=True),
    _whole(4, 1, 8, 8),
)


@dataclass(frozen=True, eq=False)
class LinearProblem:
    """Some samples of a linear environment, with their exact attributions."""

    environment: Linear
    samples: Samples
    scale: float  # a power of two by which the sum of any features of any sample is below 0.5
    seed: int = 0  # of the stream of our own metrics, which ignore the global seed

    def __len__(self) -> int:
        return len(self.samples)

    @property
    def x(self) -> Tensor:
        """(N, *entries)"""
        return self.samples.x

    @cached_property
    def y(self) -> Tensor:
        """The explained class (N,): the one that wins, except for ``losing`` samples."""
        return self.samples.label if self.samples.target is None else self.samples.target

    @property
    def losing(self) -> tuple[bool, ...]:
        """Samples whose explained class does not win."""
        return tuple((self.y != self.samples.label).tolist())

    @cached_property
    def weights(self) -> Tensor:
        """Of class 0 (*entries)."""
        return self.environment.class_weights(SEED)[0]

    @property
    def bias(self) -> float:
        """Of class 0; that of class 1 is its negative."""
        return self.environment.bias

    @property
    def per_pixel(self) -> bool:
        """The map has one number per pixel, not one per channel."""
        return self.environment.per_pixel

    @property
    def kind(self) -> Literal["image", "table"]:
        return "table" if len(self.environment.shape) == 1 else "image"

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
            " of a class that does not win": any(self.losing),
            " of a model with a bias": bool(self.bias),
            f" of more than {MANY_FEATURES} features": self.weights.numel() > MANY_FEATURES,
            " where numbers are tenths, which floats round": self.environment.weights == "tenths",
        }
        return tuple(trait for trait, present in traits.items() if present)

    @property
    def features(self) -> Features:
        return self.environment.features

    @cached_property
    def exact(self) -> Tensor:
        """The exact attribution: the contribution of every entry (N, *entries), or per pixel (N, 1, height, width)."""
        effects = self.environment.effects(self.x, self.y, SEED)
        return effects.sum(dim=1, keepdim=True) if self.per_pixel else effects

    def model(self, scale: float = 1.0, offset: float = 0.0) -> nn.Module:
        """A new model, answering ``offset + scale * (w.x + b)`` and, for class 1, ``offset - scale * (w.x + b)``."""
        weights, biases = self.environment.class_weights(SEED), self.environment.class_biases
        return linear_model(scale * weights, offset + scale * biases)

    def rows(self, index: Sequence[int]) -> LinearProblem:
        """The same model with the samples of these rows."""
        all_rows, index = self.samples, list(index)
        target = None if all_rows.target is None else all_rows.target[index]
        indices = tuple(all_rows.indices[row] for row in index)
        truth = None if all_rows.truth is None else all_rows.truth.each(lambda effect: effect[index])
        return replace(self, samples=Samples(self.x[index], all_rows.label[index], truth, indices, target))

    def describe(self, attribution: Tensor | None, returned: object = None) -> str:
        """The problem as text, for a witness: weights, samples, attribution, and what the metric returned."""
        parts = [self.name, f"w = {format_numbers(self.weights)}"]
        parts += [f"b = {self.bias:g}"] if self.bias else []
        parts += [f"x = {format_numbers(self.x)}"]
        parts += [f"y = {format_numbers(self.y)}"] if self.bias or self.environment.losers else []
        parts += [] if attribution is None else [f"attribution = {format_numbers(attribution)}"]
        parts += [] if returned is None else [f"returned {returned}"]
        return "; ".join(parts)


@cache
def linear_problems() -> tuple[LinearProblem, ...]:
    """All linear problems, the one with the fewest numbers first."""
    return tuple(sorted(starmap(_make_problem, PLANS), key=lambda problem: problem.x.numel()))


def _make_problem(samples: int, environment: Linear) -> LinearProblem:
    """The number of samples is also their seed: problems of equal shape have different numbers."""
    drawn = environment.sample(range(samples), samples)
    products = environment.effects(drawn.x, drawn.label, SEED)
    largest = float(products.abs().flatten(1).sum(dim=1).max()) + abs(environment.bias)
    return LinearProblem(environment, drawn, 2.0 ** -ceil(log2(2 * largest)))


def format_numbers(numbers: Tensor) -> str:
    """Numbers in brackets, one pair of brackets per sample; long lists are cut."""
    flat = numbers.flatten().tolist()
    shown = ", ".join(f"{number + 0.0:.6g}" for number in flat[:SHOWN])
    if len(flat) > SHOWN:
        return f"[{shown}, ... {len(flat)} numbers]"
    if numbers.dim() > 1 and len(numbers) > 1:
        return "[" + ", ".join(format_numbers(row) for row in numbers) + "]"
    return f"[{shown}]"
