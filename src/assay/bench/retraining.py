"""ROAR's retraining: many networks at once against one after the other, with the same numbers.

Next to both stand the matrix products of the training alone, one network at a time: what is left when all the rest
costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

import torch
from torch import Tensor

from assay.bench.bench import Measured, seconds
from assay.environments.tabular_rule import TabularRule

SHARES = 10  # of the columns, 0 to 9 tenths
EPOCHS = 2
ASKED = 256  # rows whose logits are compared


def problems() -> list[Measured]:
    return [
        Retraining(TabularRule(hidden=hidden, epochs=EPOCHS)) for hidden in ((256, 256, 128, 64), (64, 64), (16, 8))
    ]


@dataclass(frozen=True)
class Retraining:
    """Models trained per second: one for every share of columns removed. Both sides answer with logits of some rows."""

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
            return torch.stack([model(rows[:ASKED]) for model, rows in zip(models, x, strict=True)])

        def alone() -> Tensor:
            models = [recipe.train(rows, reference.label, seed) for rows, seed in zip(x, seeds, strict=True)]
            return torch.stack([model(rows[:ASKED]) for model, rows in zip(models, x, strict=True)])

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
    found = x.clone()
    found[:, :count] = x[:, :count].mean(dim=0)
    return found


def _products(widths: tuple[int, ...], rows: int, batch: int, epochs: int) -> Callable[[], None]:
    """Every product of that many epochs: forward, and back to the weights and, but for the first layer, the inputs."""
    sizes = [min(batch, rows - begin) for begin in range(0, rows, batch)]
    steps = {
        size: [_layer(size, *layer, first=not depth) for depth, layer in enumerate(pairwise(widths))] for size in sizes
    }

    def work() -> None:
        for size in sizes * epochs:
            for layer in steps[size]:
                for left, right, found in layer:
                    torch.mm(left, right, out=found)

    return work


def _layer(rows: int, inputs: int, outputs: int, first: bool) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Both factors and the place of each product of a step at one layer."""
    seen, weight, answer = torch.ones(rows, inputs), torch.ones(outputs, inputs), torch.empty(rows, outputs)
    slope = torch.ones(rows, outputs)
    found = [(seen, weight.T, answer), (slope.T, seen, torch.empty_like(weight))]
    return found if first else [*found, (slope, weight, torch.empty_like(seen))]
