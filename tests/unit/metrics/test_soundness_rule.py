"""The rule of Algorithm 3, and how its pairs of accuracy and soundness reach the score."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import torch

from assay.claims.expansion import by_halves, claimed_soundness
from assay.core.evidence import Score
from assay.core.trial import Trial
from assay.engine.artifacts.score import with_curve
from assay.metrics._soco_sets import order_by_segments
from assay.metrics.soundness import Rule, Soundness, first_reaching
from assay.stats.intervals import interval, mean_axis
from oracles.metrics.checks_soco import predicted
from oracles.metrics.scenes import image_scene, numbers

RULE = Rule(threshold=0.01, strict=True, start=-1.0, lag=False)


def random_levels(steps: int, rises: float) -> np.ndarray:
    random = np.random.default_rng(steps)
    level = np.cumsum(np.where(random.random(steps) < rises, random.integers(1, 4, steps), 0))
    return level / max(1, level[-1])


def test_halves_are_those_of_the_small_games() -> None:
    for steps in (1, 5, 8, 16, 21, 40):
        for rises in (0.0, 0.1, 0.5, 1.0):
            level = random_levels(steps, rises)
            performance = torch.from_numpy(np.concatenate([[0.0], level]))
            ends = by_halves(performance, torch.ones(steps), 8, 0.01)
            assert Rule(0.01, True, 0.0, False).halved(level, 8).tolist() == ends.nonzero()[:, 0].tolist()


def test_a_step_that_rises_by_the_threshold_stays_whole_where_that_is_no_rise() -> None:
    level = np.array([0, 0, 0, 0.5, 0.5, 0.5, 0.5, 0.25, *[0.25] * 8])
    assert Rule(0.25, strict=False, start=0.0, lag=False).halved(level, 8).tolist() == [7, 15]
    assert Rule(0.25, strict=True, start=0.0, lag=False).halved(level, 8)[0] < 7


def test_segments_that_differ_by_rounding_alone_are_equal() -> None:
    labels = torch.tensor([[0, 0, 1, 1]])
    shuffles = [torch.tensor([order]) for order in permutations(range(4))]
    for dtype in (torch.float32, torch.float64):
        for values in ([1, 2, 3, 0], [1, 9, 10, 0], [3, 4, 7, 0]):
            height = torch.tensor([values], dtype=dtype) / max(values)
            orders = [order_by_segments(labels, height, torch.tensor([[2]]), shuffle)[0] for shuffle in shuffles]
            firsts = [int(order[0, 0]) // 2 for order in orders]
            assert sum(firsts) == len(shuffles) / 2


def test_the_rule_is_that_of_the_small_games() -> None:
    level = random_levels(30, 0.3)
    falling = np.sort(np.random.default_rng(0).integers(1, 50, 30))[::-1].copy()
    performance = torch.from_numpy(np.concatenate([[0.0], level]))
    every = torch.ones(30, dtype=torch.bool)
    expected = claimed_soundness(performance, torch.from_numpy(falling), every, 0.01, -1.0)
    found = RULE.soundness(level, np.cumsum(falling)[None].astype(float))
    np.testing.assert_allclose(found[0], expected.numpy(), rtol=1e-12)


def test_a_rise_of_exactly_the_threshold_counts_whatever_floats_say() -> None:
    level = np.array([0.02, 0.03, 0.04, 0.05])  # 0.03 - 0.02 is less than 0.01 in floats
    assert (np.diff(level) < 0.01).any()
    kept = np.array([[1.0, 2.0, 3.0, 4.0]])
    assert RULE.soundness(level, kept).tolist() == [[1, 1, 1, 1]]
    loose = Rule(threshold=0.01, strict=False, start=-1.0, lag=False)
    np.testing.assert_allclose(loose.soundness(level, kept), [[1, 1 / 2, 1 / 3, 1 / 4]])


def test_a_level_is_read_where_it_is_first_reached_though_accuracy_falls_again() -> None:
    assert first_reaching(np.array([0.1, 0.3, 0.2, 0.4]), (0.1, 0.2, 0.35, 0.5)) == [0, 1, 3]


def test_accuracy_is_what_the_curve_is_drawn_over() -> None:
    metric = Soundness(canvas="zero", steps=9)
    found = [metric(Trial(predicted(image_scene(12, seed=seed)), numbers(seed, 12, 6, 6))) for seed in (1, 2)]
    made = with_curve(Score(None), found, metric.reduce)
    expected = np.mean([evidence["correct"].mean(axis=0) for evidence in found], axis=0)
    np.testing.assert_allclose(made.at, expected, rtol=1e-12)
    assert made.curve is not None
    assert made.curve.shape == expected.shape


def test_an_axis_that_the_samples_do_not_decide_stays() -> None:
    assert mean_axis([Score(1.0, 1, 1)], np.arange(3)).tolist() == [0, 1, 2]


def test_the_interval_reruns_the_algorithm_on_every_resample() -> None:
    metric = Soundness(canvas="zero", steps=9, levels=(0.2, 0.4))
    evidence = metric(Trial(predicted(image_scene(12)), numbers(0, 12, 6, 6)))
    found = interval([evidence], metric.reduce, resamples=50)
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low < found.high <= 1
    assert found.value == metric.reduce(evidence).value
