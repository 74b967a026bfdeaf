"""Paired differences between two maps of the same samples."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from assay.core.evidence import Evidence, Score
from assay.stats.paired import paired

RNG = np.random.default_rng(3)
LEFT, RIGHT = RNG.normal(size=20), RNG.normal(0.5, size=20)


def evidence(values: np.ndarray, defined: np.ndarray | None = None) -> Evidence:
    return Evidence({"value": values, **({} if defined is None else {"defined": defined})})


def share(evidence: Evidence) -> Score:
    return Score(float(evidence["hit"].mean()), len(evidence), len(evidence))


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_values_per_sample_are_compared_as_scipy_does_it(level: float) -> None:
    difference = paired(evidence(LEFT), evidence(RIGHT), level=level)
    expected = stats.ttest_rel(LEFT, RIGHT).confidence_interval(level)
    assert difference is not None
    np.testing.assert_allclose([difference.low, difference.high], [expected.low, expected.high])
    np.testing.assert_allclose(difference.mean, (LEFT - RIGHT).mean())
    assert difference.count == 20


def test_only_samples_that_both_define_are_compared() -> None:
    first, second = np.arange(20) > 2, np.arange(20) % 2 == 0
    difference = paired(evidence(LEFT, first), evidence(RIGHT, second))
    assert difference == paired(evidence(LEFT[first & second]), evidence(RIGHT[first & second]))
    assert paired(evidence(LEFT, np.arange(20) < 1), evidence(RIGHT)) is None


def test_what_differs_by_rounding_is_equal() -> None:
    difference = paired(evidence(LEFT), evidence(LEFT * (1 + 1e-8)))
    assert difference is not None
    assert (difference.mean, difference.low, difference.high) == (0.0, 0.0, 0.0)
    other = paired(evidence(LEFT), evidence(LEFT - 1e-4))
    assert other is not None
    assert other.low > 0


def test_a_set_level_metric_is_resampled_with_the_same_samples() -> None:
    hits = RNG.random(200) < 0.4
    worse = hits & (np.arange(200) % 4 > 0)
    difference = paired(Evidence({"hit": hits}), Evidence({"hit": worse}), share)
    lost = hits.astype(float) - worse
    spread = lost.std() / np.sqrt(200)
    assert difference is not None
    assert difference.mean == pytest.approx(lost.mean())
    assert difference.high - difference.low == pytest.approx(2 * 1.96 * spread, rel=0.15)
    assert paired(Evidence({"hit": hits}), Evidence({"hit": hits}), lambda _: Score(None, 0, 0)) is None
