"""Extremal perturbation compared with the model's passes alone: the method's own cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import torch

from assay.core.machine import Machine
from assay.core.query import Query
from assay.kit.smooth_masks import SmoothMask
from assay.methods.extremal_perturbation import SIGMA, STEP, ExtremalPerturbation
from benchmarks.measuring import Measured, seconds
from benchmarks.problems import SIDE, resnet_query

IMAGES, ITERATIONS = 8, 20
ROOM = 4 * 2**30  # bytes: all images in one call


def problems() -> list[Measured]:
    return [Cost()]


@dataclass(frozen=True)
class Cost:
    """CPU seconds of the method, of the model's passes alone, and of making masks alone, forwards and backwards."""

    iterations: int = ITERATIONS
    images: int = IMAGES

    def rows(self, task: str, repeats: int) -> list[dict[str, Any]]:
        query = replace(resnet_query(self.images), machine=Machine(memory=ROOM))
        method = ExtremalPerturbation(iterations=self.iterations)
        times = _times((lambda: method(query), self._passes(query), self._masks()), repeats)
        ours, passes, masks = times
        statement = f"ResNet-18, {self.images} images of {SIDE}x{SIDE}, {self.iterations} iterations"
        note = f"without making masks: {(ours - masks) / passes:.2f}x the passes; with it: {ours / passes:.2f}x"
        names = ("assay", "the model's passes alone, forward and backward", "making masks alone, forward and backward")
        return [
            {
                "task": task,
                "problem": statement,
                "repeats": repeats,
                "who": who,
                "seconds": taken,
                "figure": f"{taken:,.1f} s",
                "ratio": f"{taken / passes:.2f}x",
                "note": note,
            }
            for who, taken in zip(names, times, strict=True)
        ]

    def _passes(self, query: Query) -> Callable[[], object]:
        return lambda: [query.gradient(query.x) for _ in range(self.iterations)]

    def _masks(self) -> Callable[[], object]:
        smooth = SmoothMask(SIDE, SIDE, STEP, SIGMA)
        random = torch.Generator().manual_seed(0)
        numbers = torch.rand(self.images, *smooth.grid, generator=random).requires_grad_()

        def once() -> object:
            canvas = smooth.canvas(numbers)
            return torch.autograd.grad(canvas, numbers, torch.ones_like(canvas))

        return lambda: [once() for _ in range(self.iterations)]


def _times(works: tuple[Callable[[], object], ...], repeats: int) -> list[float]:
    """The median of each, in alternating runs."""
    runs = [[seconds(work) for work in works] for _ in range(repeats)]
    return [median(column) for column in zip(*runs, strict=True)]
