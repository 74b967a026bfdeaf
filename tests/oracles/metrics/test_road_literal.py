"""ROAD with its own imputation and without noise, against one image, one share and one pixel at a time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from assay.core.features import Pixels
from assay.core.trial import Trial
from assay.metrics.road import Road
from oracles.metrics.scenes import numbers, scene
from streams import seeded

SIDE, COUNT = 16, 4
RATIOS = tuple(k / 8 for k in range(1, 8))


@seeded()
def network() -> nn.Module:
    layers = nn.Sequential(nn.Conv2d(2, 3, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(3 * SIDE**2, 3)).double()
    for index, parameter in enumerate(layers.parameters()):
        parameter.data = numbers(index, *parameter.shape) / (4 if index < 2 else 12)
    return layers


def without(image: np.ndarray, gone: set[tuple[int, int]]) -> np.ndarray:
    """Each pixel that is gone becomes the mean of its neighbours: those beside it count twice as much as the diagonal
    ones, those outside of the image not at all, and those that are gone themselves are unknowns of the same system."""
    places = sorted(gone)
    system, known = np.zeros((len(places), len(places))), np.zeros((len(places), len(image)))
    for at, (row, column) in enumerate(places):
        for down, right in [(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)]:
            there = (row + down, column + right)
            if not (0 <= there[0] < SIDE and 0 <= there[1] < SIDE):
                continue
            weight = 2.0 if down == 0 or right == 0 else 1.0
            system[at, at] += weight
            if there in gone:
                system[at, places.index(there)] -= weight
            else:
                known[at] += weight * image[:, there[0], there[1]]
    found = image.copy()
    for place, values in zip(places, np.linalg.solve(system, known), strict=True):
        found[:, place[0], place[1]] = values
    return found


def literal(where, attribution, lowest, by):
    curves = np.zeros((COUNT, len(RATIOS)))
    for sample in range(COUNT):
        image, values = where.samples.x[sample].numpy(), attribution[sample].numpy()
        pixels = [(row, column) for row in range(SIDE) for column in range(SIDE)]
        pixels.sort(key=lambda pixel: values[pixel] if lowest else -values[pixel])
        for column, ratio in enumerate(RATIOS):
            left = without(image, set(pixels[: round(ratio * SIDE**2)]))
            with torch.no_grad():
                said = where.setting.model(torch.from_numpy(left)[None])[0]
            if by == "accuracy":
                curves[sample, column] = int(said.argmax()) == int(where.samples.label[sample])
            else:
                curves[sample, column] = float(said.softmax(0)[int(where.target[sample])])
    return curves


@pytest.mark.parametrize("order, lowest", [("morf", False), ("lerf", True)])
@pytest.mark.parametrize("by", ["probability", "accuracy"])
def test_road_is_the_literal_one_at_every_eighth(order, lowest, by):
    where = scene(numbers(1, COUNT, 2, SIDE, SIDE), network(), Pixels(2, SIDE, SIDE))
    with torch.no_grad():
        label = where.setting.model(where.samples.x).argmax(dim=1)
    where = replace(where, samples=replace(where.samples, label=label))
    attribution = numbers(2, COUNT, SIDE, SIDE)
    found = Road(order, ratios=RATIOS, by=by, jitter=0.0)(Trial(where, attribution))
    expected = literal(where, attribution, lowest, by)
    np.testing.assert_allclose(found["curve"], expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found["value"], expected.mean(axis=1), rtol=1e-9)
    assert np.ptp(expected) > 0.05
