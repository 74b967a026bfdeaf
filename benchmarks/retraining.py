"""ROAR's retraining: many networks at once against one after the other, with the same numbers.

The matrix products of the training alone, one network at a time, are timed as well: a lower bound if everything else
cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

import torch
from torch import Tensor

from assay.environments.tabular_rule import TabularRule
from benchmarks.measuring import Measured, seconds

SHARES = 10  # of the columns, 0 to 9 tenths
EPOCHS = 2
COMPARED = 256  # rows whose logits are compared


def problems() -> list[Measured]:
    return [
        Retraining(TabularRule(hidden=hidden, epochs=EPOCHS)) for hidden in ((256, 256, 128, 64), (64, 64), (16, 8))
    ]


@dataclass(frozen=True)
class Retraining:
    """Models trained per second, one for every share of columns removed. Logits of some rows are compared."""

    environment: TabularRule

    def rows(self, task: str, repeats: int) -> list[dict[str, Any]]:
        environment = self.environment
        setting = environment.setting(0, environment.train(0))
        recipe, reference = setting.recipe, setting.reference
        assert recipe is not None
        assert reference is not None
        x = torch.stack([_without(reference.x, share * environment.d // SHARES) for share in range(SHARES)])
        seeds = list(range(SHARES))
        widths = (environment.d, *environment.hidden, environment.classes)

        def together() -> Tensor:
            models = recipe.train_many(x, reference.label, seeds)
            return torch.stack([model(rows[:COMPARED]) for model, rows in zip(models, x, strict=True)])

        def alone() -> Tensor:
            models = [recipe.train(rows, reference.label, seed) for rows, seed in zip(x, seeds, strict=True)]
            return torch.stack([model(rows[:COMPARED]) for model, rows in zip(models, x, strict=True)])

        works = (together, alone, _products(widths, len(reference.x), environment.batch, environment.epochs * SHARES))
        ours, theirs, _ = (work() for work in works)
        assert ours is not None
        assert theirs is not None
        runs = [[seconds(work) for work in works] for _ in range(repeats)]
        rates = [SHARES / median(column) for column in zip(*runs, strict=True)]
        difference = float((ours - theirs).abs().max() / theirs.abs().max())
        statement = (
            f"MLP {'-'.join(map(str, widths))}, {len(reference.x)} rows, batch {environment.batch}, "
            f"{environment.epochs} epochs; per retrained model"
        )
        note = f"largest difference: {difference:.1e} of the largest"
        common = {"task": task, "problem": statement, "repeats": repeats, "note": note}
        names = ("assay", "assay, one model after the other", "the matrix products alone")
        return [
            {**common, "who": who, "rate": rate, "figure": f"{rate:,.1f} /s", "ratio": f"{rate / rates[1]:.1f}x"}
            for who, rate in zip(names, rates, strict=True)
        ]


def _without(x: Tensor, count: int) -> Tensor:
    filled = x.clone()
    filled[:, :count] = x[:, :count].mean(dim=0)
    return filled


def _products(widths: tuple[int, ...], rows: int, batch: int, epochs: int) -> Callable[[], None]:
    """All products of the epochs: forward, and backward to weights and (except in the first layer) to inputs."""
    sizes = [min(batch, rows - begin) for begin in range(0, rows, batch)]
    steps = {
        size: [_layer(size, *layer, first=not depth) for depth, layer in enumerate(pairwise(widths))] for size in sizes
    }

    def work() -> None:
        for size in sizes * epochs:
            for layer in steps[size]:
                for left, right, product in layer:
                    torch.mm(left, right, out=product)

    return work


def _layer(rows: int, inputs: int, outputs: int, first: bool) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Both factors and the output tensor of each product of a step at one layer."""
    x, weight, output = torch.ones(rows, inputs), torch.ones(outputs, inputs), torch.empty(rows, outputs)
    gradient = torch.ones(rows, outputs)
    products = [(x, weight.T, output), (gradient.T, x, torch.empty_like(weight))]
    return products if first else [*products, (gradient, weight, torch.empty_like(x))]
