"""The check of the metric that guesses classes from deletion masks. Distances are exact fractions here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.evidence import Evidence, merge
from assay.core.trial import Scene, Trial
from oracles.metrics.refusals import refuses
from oracles.metrics.scenes import PIXELS, VALUE, Lambda, image_scene, numbers, scene, table_scene, take

Make = Callable[..., Any]
COUNT = 60


def check_mask_leakage(make: Make) -> None:
    _check_masks_of_orders(make)
    _check_masks_of_cells(make)
    _check_ties(make)
    _check_who_is_guessed(make)
    _check_the_classifier(make)
    _check_chance(make)
    _check_leaks_and_controls(make)
    _check_small_classes(make)
    value = scene(numbers(93, 2, 2, 6, 6), Lambda(lambda x: x.flatten(1).sum(1, keepdim=True)), PIXELS, VALUE)
    refuses(NotApplicable, "needs a classifier", lambda: make()(Trial(value, numbers(1, 2, 6, 6))))
    refuses(SpecError, "share=0", lambda: make(share=0.0))
    refuses(SpecError, "folds=1", lambda: make(folds=1))
    refuses(SpecError, "grid=(1, 1)", lambda: make(grid=(1, 1)))


def _check_masks_of_orders(make: Make) -> None:
    """The channels of a pixel are added; as many pixels as the share has in whole are deleted, from one end."""
    where, attribution = image_scene(4), numbers(70, 4, 2, 6, 6)
    for masks, share in (("ids", 0.5), ("ids", 0.3), ("road", 0.5), ("road", 0.1)):
        found = make(masks=masks, share=share)(Trial(where, attribution))["mask"]
        for row in range(4):
            values = [float(attribution[row, 0].flatten()[at] + attribution[row, 1].flatten()[at]) for at in range(36)]
            last_first = sorted(range(36), key=values.__getitem__, reverse=masks == "road")
            deleted = last_first[: int(share * 36)]
            assert sorted(np.flatnonzero(found[row])) == sorted(deleted)


def _check_masks_of_cells(make: Make) -> None:
    """A whole cell each: drawn, with no regard to the map; or that of the largest sum."""
    where, attribution = image_scene(200), numbers(71, 200, 2, 6, 6)
    cells = [[row // 3 * 3 + column // 2 for column in range(6)] for row in range(6)]  # 2 x 3 of 3 x 2 pixels
    flat = np.array(cells).ravel()
    drawn = make(masks="idsds", grid=(2, 3))(Trial(where, attribution))["mask"]
    chosen = [int(flat[row][0]) for row in drawn]
    assert all(np.array_equal(row, flat == cell) for row, cell in zip(drawn, chosen, strict=True))
    assert min(chosen.count(cell) for cell in range(6)) > 15  # 33 expected; 6 deviations below
    again = make(masks="idsds", grid=(2, 3))(Trial(where, -attribution))["mask"]
    np.testing.assert_array_equal(drawn, again)
    highest = make(masks="highest_cell", grid=(2, 3))(Trial(where, attribution))["mask"]
    for row in range(200):
        sums = [0.0] * 6
        for at in range(36):
            sums[flat[at]] += float(attribution[row, :, at // 6, at % 6].sum())
        np.testing.assert_array_equal(highest[row], flat == sums.index(max(sums)))
    table = make(masks="idsds")(Trial(table_scene(50), numbers(72, 50, 7)))["mask"]
    assert (table.sum(axis=1) == 1).all()
    assert table.any(axis=0).all()


def _check_ties(make: Make) -> None:
    """Of a constant map, ids deletes the first pixels of every sample, road others in each."""
    flat = Trial(image_scene(6), torch.ones(6, 6, 6))
    ids, road = (make(masks=masks, share=0.25)(flat)["mask"] for masks in ("ids", "road"))
    assert (ids.sum(axis=1) == 9).all()
    assert ids[:, :9].all()
    assert (road.sum(axis=1) == 9).all()
    assert len({row.tobytes() for row in road}) == 6


def _check_who_is_guessed(make: Make) -> None:
    where = image_scene(COUNT)
    where = replace(where, samples=replace(where.samples, target=where.target))  # what is explained is not guessed
    trial = Trial(where, numbers(73, COUNT, 6, 6))
    with torch.no_grad():
        best = [int(where.setting.model(row[None])[0].argmax()) for row in where.samples.x]
    label = where.samples.label.tolist()
    assert len({tuple(best), tuple(label), tuple(where.target.tolist())}) == 3
    assert make()(trial)["label"].tolist() == label
    assert make(classes="predicted")(trial)["label"].tolist() == best


def _check_the_classifier(make: Make) -> None:
    random = np.random.default_rng(5)
    for folds, size, features in ((2, 12, 4), (3, 30, 5), (5, 40, 9)):
        label = random.choice([2, 5, 7], size=size, p=[0.5, 0.3, 0.2])
        masks = random.random((size, features)) < 0.3 + 0.1 * (label[:, None] == 5)
        metric = make(folds=folds)
        score = metric.reduce(told(masks, label))
        np.testing.assert_allclose(score.value, leakage(masks, label.tolist(), folds), rtol=1e-9, atol=1e-12)
    for _ in range(20):  # one of four cells each: often, classes are equally near
        masks, label = np.eye(4, dtype=bool)[random.integers(4, size=45)], np.arange(45) % 3
        value = make().reduce(told(masks, label)).value
        np.testing.assert_allclose(value, leakage(masks, label.tolist(), 5), rtol=1e-9, atol=1e-12)
    where = image_scene(COUNT)
    trial = Trial(where, _showing(where))
    metric = make(masks="ids")
    whole = metric(trial)
    parts = merge([metric(take(trial, slice(start, start + 20))) for start in (0, 20, 40)])
    assert metric.reduce(whole).value == metric.reduce(parts).value
    expected = leakage(whole["mask"], whole["label"].tolist(), 5)
    np.testing.assert_allclose(metric.reduce(whole).value, expected, rtol=1e-9)
    assert expected > 0.3


def _check_chance(make: Make) -> None:
    """What is subtracted is the mean accuracy of the guesses over all orders of the labels."""
    label = [0, 0, 0, 0, 1, 1, 1]
    masks = np.array([[1, 0], [1, 0], [0, 0], [1, 1], [0, 1], [0, 1], [1, 0]], dtype=bool)
    guess = guesses(masks, label, 2)
    shuffled = [np.mean([a == b for a, b in zip(guess, order, strict=True)]) for order in permutations(label)]
    accuracy = np.mean([a == b for a, b in zip(guess, label, strict=True)])
    score = make(folds=2).reduce(told(masks, np.array(label)))
    np.testing.assert_allclose(score.value, accuracy - np.mean(shuffled), rtol=1e-12)
    assert (score.count, score.defined) == (7, 7)


def _check_leaks_and_controls(make: Make) -> None:
    """Maps that show the class leak; random, constant and drawn masks do not."""
    where = image_scene(300)
    shown, noise = _showing(where), numbers(75, 300, 6, 6)
    leaks = {
        (masks, name): make(masks=masks, grid=(3, 3)).reduce(make(masks=masks, grid=(3, 3))(Trial(where, values))).value
        for masks in ("ids", "road", "highest_cell", "idsds")
        for name, values in (("shown", shown), ("noise", noise), ("flat", 0 * noise))
    }
    assert min(leaks[masks, "shown"] for masks in ("ids", "road", "highest_cell")) > 0.3
    by_chance = [value for (masks, name), value in leaks.items() if masks == "idsds" or name != "shown"]
    assert max(map(abs, by_chance)) < 0.11  # four deviations of the accuracy of 300 guesses among three
    assert leaks["ids", "flat"] == leaks["highest_cell", "flat"] == 0.0


def _check_small_classes(make: Make) -> None:
    """A class that some fold lacks is left out; one class alone is no question."""
    random = np.random.default_rng(6)
    label = np.array([0, 1] * 6 + [2, 2])
    masks = random.random((14, 6)) < 0.4 + 0.3 * (label[:, None] == 1)
    score = make(folds=5).reduce(told(masks, label))
    np.testing.assert_allclose(score.value, leakage(masks[:12], label[:12].tolist(), 5), rtol=1e-9, atol=1e-12)
    assert (score.count, score.defined) == (14, 12)
    defined = np.arange(14) > 1
    some = make(folds=5).reduce(Evidence({"mask": masks, "label": label, "defined": defined}))
    np.testing.assert_allclose(some.value, leakage(masks[2:12], label[2:12].tolist(), 5), rtol=1e-9, atol=1e-12)
    assert (some.count, some.defined) == (14, 10)
    for alone in (told(masks[:12], 0 * label[:12]), told(masks[:6], label[:6])):
        assert make(folds=5).reduce(alone).value is None


def _showing(where: Scene) -> Tensor:
    """Maps that are high in a column of the label's own, under noise."""
    column = torch.arange(6) == 2 * where.samples.label[:, None]
    return numbers(74, len(where.samples), 6, 6) + 2 * column[:, None, :]


def told(masks: np.ndarray, label: np.ndarray) -> Evidence:
    return Evidence({"mask": masks, "label": label})


def leakage(masks: np.ndarray, label: Sequence[int], folds: int) -> float:
    guess = guesses(masks, label, folds)
    size = len(label)
    right = sum(a == b for a, b in zip(guess, label, strict=True)) / size
    return right - sum(guess.count(name) * list(label).count(name) for name in set(label)) / size**2


def guesses(masks: np.ndarray, label: Sequence[int], folds: int) -> list[int]:
    """One sample at a time: the class whose mean mask over other folds is nearest, the first of equally near ones."""
    fold = [list(label[:at]).count(label[at]) % folds for at in range(len(label))]
    found = []
    for at, mask in enumerate(masks):
        distances = {}
        for name in sorted(set(label)):
            others = [row for row in range(len(label)) if label[row] == name and fold[row] != fold[at]]
            means = [Fraction(int(masks[others, place].sum()), len(others)) for place in range(masks.shape[1])]
            distances[name] = sum((int(bit) - mean) ** 2 for bit, mean in zip(mask, means, strict=True))
        found.append(min(distances, key=lambda name: (distances[name], name)))
    return found
