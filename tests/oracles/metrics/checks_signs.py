"""The check of sign mixing. It takes what makes the metric."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from assay.core.errors import NotApplicable, SpecError
from assay.core.features import Pixels
from assay.core.trial import Scene, Trial
from oracles.metrics.refusals import refuses
from oracles.metrics.scenes import VALUE, Lambda, numbers, scene, table_scene

Make = Callable[..., Any]


def check_sign_mixing(make: Make) -> None:
    where = painted(3)
    picture = replace(where, setting=replace(where.setting, picture=lambda x: x.flip(1) ** 2))
    grey = painted(2)
    maps, entries = numbers(81, 4, 5, 6), numbers(82, 4, 3, 5, 6)
    maps[1, :, ::2] = 0
    for near in (0.0, 0.25, 0.5, 1.0):
        for given in (maps, entries, -maps, 1e-200 * maps):
            compare(make(near=near), where, where.samples.x, given, near)
            compare(make(near=near), picture, where.samples.x.flip(1) ** 2, given, near)
        shades = grey.samples.x.mean(dim=1, keepdim=True)
        low, high = shades.amin(dim=(1, 2, 3), keepdim=True), shades.amax(dim=(1, 2, 3), keepdim=True)
        compare(make(near=near), grey, (shades - low) / (high - low), maps, near)
    board = torch.ones(4, 5, 6, dtype=torch.float64)
    board[:, ::2, ::2] = board[:, 1::2, 1::2] = -1
    assert make(near=1.0)(Trial(where, board))["value"].tolist() == [1.0] * 4
    assert make(near=1.0)(Trial(where, board.abs()))["value"].tolist() == [0.0] * 4
    nothing = make()(Trial(where, 0 * maps))
    assert not nothing["defined"].any()
    assert not nothing["value"].any()
    table = table_scene(2)
    refuses(NotApplicable, "needs images", lambda: make()(Trial(table, table.samples.x)))
    for near in (-0.1, 1.5):
        refuses(SpecError, "0 to 1", lambda near=near: make(near=near))


def painted(channels: int) -> Scene:
    """Four pictures whose entries are quarters, each with a black and a white pixel."""
    x = (torch.rand(4, channels, 5, 6, generator=torch.Generator().manual_seed(80)) * 5).floor().double() / 4
    x[:, :, 0, 0], x[:, :, 4, 5] = 0, 1
    return scene(x, Lambda(lambda x: x.flatten(1)[:, :1]), Pixels(channels, 5, 6), VALUE)


def compare(metric: Any, where: Scene, picture: torch.Tensor, attribution: torch.Tensor, near: float) -> None:
    found = metric(Trial(where, attribution))
    maps = attribution if attribution.dim() == 3 else attribution.sum(dim=1)
    for row in range(len(maps)):
        expected = mixing(maps[row].numpy(), picture[row].numpy(), near)
        assert found["defined"][row] == (expected is not None)
        np.testing.assert_allclose(found["value"][row], expected or 0.0, rtol=1e-9)


def mixing(values: np.ndarray, picture: np.ndarray, near: float) -> float | None:
    """Over all pairs of neighbours of similar colour, the weight of opposite signs; None where nothing weighs."""
    opposite = total = 0.0
    height, width = values.shape
    for i in range(height):
        for j in range(width):
            for k, m in ((i + 1, j), (i, j + 1)):
                if k == height or m == width or max(abs(picture[:, i, j] - picture[:, k, m])) > near:
                    continue
                weight = min(abs(values[i, j]), abs(values[k, m]))
                total += weight
                opposite += weight if np.sign(values[i, j]) != np.sign(values[k, m]) else 0.0
    return opposite / total if total else None
