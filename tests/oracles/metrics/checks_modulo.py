"""Check of Sensitivity-N in the modulo setting, on a model that really counts modulo 5."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from assay.core.errors import NotApplicable
from assay.core.trial import Scene, Trial
from oracles.metrics import literal_truth
from oracles.metrics.refusals import refuses
from oracles.metrics.scenes import answer, numbers, truth_scene

Make = Callable[..., Any]
SETS = 12


def check_modulo_sensitivity_n(make: Make) -> None:
    white = (numbers(61, 5, 6, 6) > 0.3).double()
    white[3] = 0
    maps = numbers(62, 5, 1, 6, 6)
    maps[4] = 0.1 * (1 + 1e-16 * maps[4].sign())  # constant but for rounding
    assert maps[4].unique().numel() > 1
    maps[2] = white[2] * 0.1  # the truth
    _check_steps(make, truth_scene(white), maps)
    maps[0] = 0.1  # constant
    maps[1, 0, 0, 0] = -50
    _check_steps(make, truth_scene(white.float()), maps.float())
    _check_every_n_estimates_one_number(make)
    _check_some_sizes_undefined(make)
    refuses(NotApplicable, "zeros and ones", lambda: make()(Trial(truth_scene(-white), maps)))
    refuses(NotApplicable, "two features", lambda: make()(Trial(truth_scene(torch.ones(2, 1)), torch.ones(2, 1))))


def _orders(where: Scene, sets: int) -> list[list[int]]:
    """The random orders: permutations from the scene's stream, one after the other, the same for every sample."""
    stream, count = where.generator("sets"), where.effect[0].numel()
    return [torch.randperm(count, generator=stream).tolist() for _ in range(sets)]


def _check_steps(make: Make, where: Scene, maps: torch.Tensor) -> None:
    """The correlation with the answers that change, pixel by pixel."""
    sizes, orders = [1, 2, 4, 8, 17, 35], _orders(where, SETS)
    for absolute in (True, False):
        found = make(sizes=6, sets=SETS, absolute=absolute)(Trial(where, maps))
        assert found.axis["curve"].tolist() == sizes
        for row in range(len(maps)):
            values = (maps[row].abs() if absolute else maps[row]).double().flatten().tolist()
            image, ask = where.samples.x[row].numpy(), answer(where, row, temperature=None)
            expected = []
            for size in sizes:
                met = [literal_truth.changes(ask, image, order, size) for order in orders]
                sums = [sum(values[j] for j in order[:size]) for order in orders]
                expected.append(literal_truth.correlation(sums, met))
            defined = [value is not None for value in expected]
            known = [value for value in expected if value is not None]
            assert found["curve_defined"][row].tolist() == defined
            np.testing.assert_allclose(found["curve"][row], [value or 0.0 for value in expected], rtol=1e-8, atol=1e-9)
            assert bool(found["defined"][row]) == bool(known)
            np.testing.assert_allclose(found["value"][row], np.mean(known) if known else 0, rtol=1e-8, atol=1e-9)
    default = make(sizes=6, sets=SETS)(Trial(where, maps))["value"]
    np.testing.assert_array_equal(default, make(sizes=6, sets=SETS, absolute=True)(Trial(where, maps))["value"])


def _check_every_n_estimates_one_number(make: Make) -> None:
    """The correlation of attribution and truth over the features, within 5 standard errors of 2000 sets."""
    white = (numbers(63, 2, 14, 14) > 0.5).float()
    maps = numbers(64, 2, 14, 14) + white
    found = make(sizes=8, sets=2000, absolute=False)(Trial(truth_scene(white), maps))
    for row in range(2):
        number = np.corrcoef(maps[row].flatten(), white[row].flatten())[0, 1]
        np.testing.assert_allclose(found["curve"][row], number, atol=5 * (1 - number**2) / np.sqrt(2000))
    assert make().sets == 100


def _check_some_sizes_undefined(make: Make) -> None:
    """One feature is false: with all but one perturbed, the numbers differ only if some order leaves it out."""
    true = torch.ones(3, 40)
    true[0, 7], true[1, 7:] = 0, 0
    where, metric = truth_scene(true), make(sizes=5, sets=6)
    found = metric(Trial(where, numbers(65, 3, 40)))
    orders = _orders(where, 6)
    told = [0 < sum(7 in order[:size] for order in orders) < 6 for size in found.axis["curve"]]
    assert found["curve_defined"][0].tolist() == told
    assert 0 < sum(told) < 5
    assert found["defined"].tolist() == [True, True, False]
    score, curve = metric.reduce(found), found["curve"]
    np.testing.assert_allclose(found["value"][0], curve[0].sum() / sum(told), rtol=1e-12)
    both = found["curve_defined"][:2].astype(float)
    np.testing.assert_allclose(score.curve, (curve[:2] * both).sum(0) / np.maximum(both.sum(0), 1), rtol=1e-12)
    np.testing.assert_allclose(score.value, found["value"][:2].mean(), rtol=1e-12)
    assert (score.count, score.defined) == (3, 2)
