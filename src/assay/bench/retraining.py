"""ROAR's retraining: many networks at once against one after the other, with the same numbers."""

from __future__ import annotations

import torch
from torch import Tensor

from assay.bench.bench import Problem
from assay.environments.tabular_rule import TabularRule

SHARES = 10  # of the columns, 0 to 9 tenths
EPOCHS = 2
ASKED = 256  # rows whose logits are compared


def problems() -> list[Problem]:
    return [_problem((256, 256, 128, 64)), _problem((64, 64)), _problem((16, 8))]


def _problem(hidden: tuple[int, ...]) -> Problem:
    """A model for every share of columns removed; both sides answer with logits of some rows."""
    environment = TabularRule(hidden=hidden, epochs=EPOCHS)
    setting = environment.setting(0, environment.train(0))
    recipe, reference = setting.recipe, setting.reference
    assert recipe is not None
    assert reference is not None
    x = torch.stack([_without(reference.x, share * environment.d // SHARES) for share in range(SHARES)])
    seeds = list(range(SHARES))

    def together() -> Tensor:
        models = recipe.train_many(x, reference.label, seeds)
        return torch.stack([model(rows[:ASKED]) for model, rows in zip(models, x, strict=True)])

    def alone() -> Tensor:
        models = [recipe.train(rows, reference.label, seed) for rows, seed in zip(x, seeds, strict=True)]
        return torch.stack([model(rows[:ASKED]) for model, rows in zip(models, x, strict=True)])

    widths = "-".join(map(str, (environment.d, *hidden, environment.classes)))
    statement = (
        f"MLP {widths}, {len(reference.x)} rows, batch {environment.batch}, {EPOCHS} epochs; per retrained model"
    )
    return Problem(statement, SHARES, together, alone, "assay, one model after the other")


def _without(x: Tensor, count: int) -> Tensor:
    found = x.clone()
    found[:, :count] = x[:, :count].mean(dim=0)
    return found
