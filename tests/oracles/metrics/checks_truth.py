"""Checks of the metrics that need the truth only. Each takes what makes the metric, so that mutants fit too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from assay.core.evidence import Evidence
from assay.core.map_grid import Cells, Nodes
from assay.core.setting import Truth
from assay.core.trial import Trial
from oracles.metrics import literal
from oracles.metrics.scenes import answer, image_scene, numbers, truth_scene

Make = Callable[..., Callable[[Trial], Evidence]]


def check_precision(make: Make) -> None:
    _check_soft(make, "precision")


def check_recall(make: Make) -> None:
    _check_soft(make, "recall")


def check_f1(make: Make) -> None:
    _check_soft(make, "f1")
    for sign in ("overall", "positive", "negative"):
        for sigma in (0.0, 0.8):
            metric = make(sign=sign, smooth=sigma)
            _check_ceilings(metric, sign, sigma)
            _check_ceilings_of_cells(metric, sign, sigma)
            _check_ceilings_of_nodes(metric, sign, sigma)


def check_modulo_insertion(make: Make) -> None:
    _check_modulo(make, delete=False)
    _check_bounds(make, best=lambda w, p: 1 - w / (2 * p), worst=lambda w, p: w / (2 * p))


def check_modulo_deletion(make: Make) -> None:
    _check_modulo(make, delete=True)
    _check_bounds(make, best=lambda w, p: w / (2 * p), worst=lambda w, p: 1 - w / (2 * p))


def signs() -> Tensor:
    """Truths (7, 6, 6) in {-1, 0, 1}: mixed, without negatives, without positives, empty, graded."""
    effect = numbers(5, 7, 6, 6).mul(1.5).round().clamp(-1, 1)
    effect[1], effect[2], effect[3] = effect[1].clamp(min=0), effect[2].clamp(max=0), 0
    effect[4] = numbers(6, 6, 6)
    return effect


def maps() -> Tensor:
    """Maps (7, 2, 6, 6) per entry: any, only positive, only negative, any, any, zero, with noise around 0."""
    maps = numbers(7, 7, 2, 6, 6)
    maps[1], maps[2], maps[5] = maps[1].abs(), -maps[2].abs(), 0
    maps[6] = maps[6].abs()
    maps[6, :, :3] *= -1e-15  # a sign that is only rounding
    maps[6, 0, 5, 5], maps[6, 1, 5, 5] = 40.0, 0.0
    maps[0, :, 0, 0] = torch.tensor([9.0, -8.5])  # channels that mostly cancel
    return maps


def soft_trials() -> list[Trial]:
    """Maps per entry and per feature, float64 and float32, with a resolution of the method's own, and about a number
    whose truth is another than the document's."""
    effect, attribution = signs(), maps()
    plain = Trial(image_scene(len(effect), effect=effect), attribution)
    single = attribution.float().sum(1)  # float32 maps are judged in float64
    scene = image_scene(len(effect), effect=effect)
    explained = Truth(effect, {"probability": effect.clamp(min=0), "logit": -effect})
    return [
        plain,
        Trial(image_scene(len(effect), effect=effect.float()), single),
        replace(plain, resolution=0.01 * numbers(11, 7, 6, 6).abs()),
        replace(plain, scene=replace(scene, samples=replace(scene.samples, truth=explained))),
    ]


def _check_soft(make: Make, name: str) -> None:
    for trial in soft_trials():
        for sign in ("overall", "positive", "negative"):
            for sigma in (0.0, 0.8):
                _check_soft_rows(make(sign=sign, smooth=sigma), trial, trial.effect, name, sign, sigma)
        _check_soft_rows(make(truth="signed"), trial, trial.scene.truth.effect, name, "overall", 0.0)


def _check_soft_rows(
    metric: Callable[[Trial], Evidence], trial: Trial, effect: Tensor, name: str, sign: str, sigma: float
) -> None:
    found = metric(trial)
    for row, (a, g, limit) in enumerate(_rows(trial, effect)):
        expected = literal.soft(a, g, sign, sigma, limit)
        assert bool(found["defined"][row]) == (expected is not None), (sign, sigma, row)
        np.testing.assert_allclose(found["value"][row], expected[name] if expected else 0, rtol=1e-9, atol=1e-15)


def small_truths(*shape: int) -> Tensor:
    """Truths (4, *shape): in {-1, 0, 1}, graded, with one effect, none."""
    effect = numbers(12, 4, *shape)
    effect[0] = effect[0].mul(1.5).round().clamp(-1, 1)
    effect[2:] = 0
    effect[2, 1, 1] = 2
    return effect


def _check_ceilings(metric: Callable[[Trial], Evidence], sign: str, sigma: float) -> None:
    """Without a grid: the best of all maps of zeros and ones. No map in between is better."""
    effect = small_truths(3, 3)
    found = metric(Trial(truth_scene(effect), numbers(13, 4, 3, 3)))["ceiling"]
    for row, g in enumerate(effect.numpy()):
        true = literal.soft_truth(g, sign, sigma)
        np.testing.assert_allclose(found[row], literal.best_f1(true, np.eye(9)) if true else 0, rtol=1e-9)
    between = numbers(14, 200, 4, 3, 3).abs() ** 3
    for maps in between if sign != "negative" else -between:
        assert (metric(Trial(truth_scene(effect), maps))["value"] <= found + 1e-9).all()


def _check_ceilings_of_cells(metric: Callable[[Trial], Evidence], sign: str, sigma: float) -> None:
    """Cells of each sample's own, numbers of either sign; the last map is no such map: all maps count."""
    effect = small_truths(3, 3)[[0, 1, 0, 1]]
    cells = torch.tensor([[0, 0, 1, 0, 0, 1, 2, 2, 2], [2, 1, 0, 2, 1, 0, 2, 1, 0]]).repeat(2, 1)
    maps = numbers(15, 4, 3).gather(1, cells)
    maps[3, 0] += 1
    trial = Trial(truth_scene(effect), maps.view(4, 3, 3), grid=Cells(cells.view(4, 3, 3)))
    found = metric(trial)["ceiling"]
    for row, g in enumerate(effect.numpy()):
        members = np.eye(9) if row == 3 else np.eye(3)[cells[row]]
        true = literal.soft_truth(g, sign, sigma)
        np.testing.assert_allclose(found[row], literal.best_f1(true, members) if true else 0, rtol=1e-9)
    shared = replace(trial, grid=Cells(cells[:1].view(1, 3, 3)), attribution=maps[[0] * 4].view(4, 3, 3))
    np.testing.assert_allclose(metric(shared)["ceiling"][::2], found[::2], rtol=1e-9)


def _check_ceilings_of_nodes(metric: Callable[[Trial], Evidence], sign: str, sigma: float) -> None:
    """Enlarged maps of 3 x 1 numbers, by a fine lattice of numbers. The number in the middle lies between two pixels,
    and so may be above 1. Signed numbers, and one pixel changed, make maps that are not of this kind."""
    down, across = literal.enlarged(3, 4), literal.enlarged(1, 2)
    effect = small_truths(4, 2)[[0, 1, 2, 1, 1]]
    maps = torch.tensor(down) @ numbers(16, 5, 3, 1).abs() @ torch.tensor(across).T
    maps[3] -= 1
    maps[4, 1, 1] += 1
    grid = Nodes(torch.tensor(down), torch.tensor(across))
    found = metric(Trial(truth_scene(effect), maps, grid=grid))["ceiling"]
    for row, g in enumerate(effect.numpy()):
        true = literal.soft_truth(g, sign, sigma)
        if true is None:
            assert found[row] == 0
        elif row < 3:
            tried = literal.best_f1(true, np.kron(down, across), levels=41)
            assert tried - 1e-9 <= found[row] <= tried + 0.005, (sign, sigma, row)
        else:
            np.testing.assert_allclose(found[row], literal.best_f1(true, np.eye(8)), rtol=1e-9)


def check_sign_agreement(make: Make) -> None:
    for trial in soft_trials():
        for truth, effect in (("explained", trial.effect), ("signed", trial.scene.truth.effect)):
            found = make(truth=truth)(trial)
            for row, (a, g, limit) in enumerate(_rows(trial, effect)):
                expected = literal.sign_agreement(a, g, limit)
                assert bool(found["defined"][row]) == (expected is not None), (truth, row)
                np.testing.assert_allclose(found["value"][row], expected or 0.0, rtol=1e-12, atol=1e-15)


def _rows(trial: Trial, effect: Tensor) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
    """Map, truth and resolution of every sample."""
    attribution = trial.attribution
    per_feature = (attribution.sum(1) if attribution.dim() == 4 else attribution).numpy()
    limits = [None] * len(per_feature) if trial.resolution is None else trial.resolution.numpy()
    yield from zip(per_feature, effect.numpy(), limits, strict=True)


def _check_modulo(make: Make, delete: bool) -> None:
    white = (numbers(8, 4, 6, 6) > 0.3).double()
    white[3] = 0
    scene, attribution = truth_scene(white), numbers(9, 4, 1, 6, 6).mul(2).round()  # with ties
    for absolute in (True, False):
        found = make(absolute=absolute)(Trial(scene, attribution))
        assert found["defined"].tolist() == [True, True, True, False]
        assert found["value"][3] == 0
        for row in range(3):
            sequence = literal.order(attribution[row].flatten().tolist(), absolute)
            ask = answer(scene, row, temperature=None)
            curve = literal.steps_that_change(ask, white[row, None].numpy(), sequence, delete)
            np.testing.assert_allclose(found["curve"][row], curve, rtol=1e-12, atol=1e-15)
            np.testing.assert_allclose(found.axis["curve"], np.arange(37) / 36, rtol=1e-12)
            np.testing.assert_allclose(found["value"][row], literal.trapezoid(curve, np.arange(37) / 36), rtol=1e-12)


def _check_bounds(make: Make, best: Callable, worst: Callable) -> None:
    """On more features than the curve keeps points: the area is over all of them, the curve a part of the whole."""
    white = (numbers(10, 3, 14, 14) > 1).float()
    for sign, bound in ((1, best), (-1, worst)):
        found = make(absolute=False)(Trial(truth_scene(white), sign * white))
        expected = [bound(w, 196) for w in white.sum((1, 2)).tolist()]
        np.testing.assert_allclose(found["value"], expected, rtol=1e-12)
        assert found["curve"].shape == (3, 65)
        assert found.axis["curve"][0] == 0
        assert found.axis["curve"][-1] == 1
        assert np.all(np.diff(found.axis["curve"]) > 0)
    _check_random_ties(make)


def _check_random_ties(make: Make) -> None:
    """A constant map, 200 times the same truth: each sample has an order of its own, and the mean is that of chance."""
    white = torch.zeros(200, 6, 6)
    white[:, 0] = 1
    found = make(ties="random")(Trial(truth_scene(white), torch.ones(200, 6, 6)))["value"]
    assert len(np.unique(found)) > 20
    assert abs(found.mean() - 0.5) < 4 * found.std() / np.sqrt(200)
    distinct = Trial(truth_scene(white), numbers(3, 200, 6, 6))
    np.testing.assert_array_equal(make(ties="random")(distinct)["value"], make(ties="stable")(distinct)["value"])
