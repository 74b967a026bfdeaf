"""Distances between curves: SciPy's directed distances, by hand, over seeds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.spatial.distance import directed_hausdorff

from assay.stats.damage import PAIRS, Points, hausdorff, response, smallest

coordinates = st.floats(-2, 2, allow_nan=False, width=32)
curves = st.lists(st.tuples(coordinates, coordinates), min_size=1, max_size=12)


def line(height: float, count: int = 5) -> Points:
    """A level curve from 0 to 1."""
    return np.stack([np.linspace(0, 1, count), np.full(count, height)], axis=1)


def states(original: float, remove: float, introduce: float) -> dict[str, Points]:
    return {"original": line(original), "remove": line(remove), "introduce": line(introduce)}


@settings(max_examples=60)
@given(curves, curves)
def test_it_is_the_larger_of_scipys_directed_distances(left: list[Points], right: list[Points]) -> None:
    a, b = np.array(left, np.float64), np.array(right, np.float64)
    expected = max(directed_hausdorff(a, b)[0], directed_hausdorff(b, a)[0])
    assert hausdorff(a, b) == pytest.approx(expected, abs=1e-12)
    assert hausdorff(b, a) == hausdorff(a, b)
    assert hausdorff(a, a) == 0


def test_a_curve_on_part_of_another_is_as_far_as_its_missing_end() -> None:
    """The directed distance from the part to the whole is 0: it takes both."""
    whole = line(0.5, 11)
    assert hausdorff(whole[:4], whole) == pytest.approx(0.7)


def test_values_without_a_curve_are_as_far_apart_as_their_difference() -> None:
    assert hausdorff(np.array([[0.25]]), np.array([[-1.0]])) == 1.25


def test_a_pair_without_points_has_no_distance_and_then_there_is_no_minimum() -> None:
    points = {**states(0, 0.2, 0.5), "remove": np.zeros((0, 2))}
    found = response([points], points)
    distances = {pair: mean.value for pair, mean in found.pairs.items()}
    assert distances == {
        ("original", "remove"): None,
        ("original", "introduce"): 0.5,
        ("remove", "introduce"): None,
    }
    assert (found.minimum.value, found.of_means) == (None, None)
    assert smallest(dict.fromkeys(PAIRS, 1.0)) == 1.0


def test_the_minimum_is_taken_in_each_seed_and_averaged_with_students_t() -> None:
    seeds = [states(0, 0.1, 0.4), states(0, 0.5, 0.2), states(0, 0.7, 0.4), states(0, 0.3, 0.1)]
    found = response(seeds, states(0, 0.4, 0.275))
    minima = [0.1, 0.2, 0.3, 0.1]
    assert found.minimum.per_seed == pytest.approx(minima)
    low, high = stats.t.interval(0.95, 3, np.mean(minima), stats.sem(minima))
    limits = (found.minimum.value, found.minimum.low, found.minimum.high, found.minimum.basis)
    assert limits == (pytest.approx(0.175), pytest.approx(max(0, low)), pytest.approx(high), "seeds")
    assert found.of_means == pytest.approx(0.125)
    assert found.pairs["original", "remove"].per_seed == pytest.approx([0.1, 0.5, 0.7, 0.3])


def test_one_seed_and_seeds_that_share_samples_have_no_interval() -> None:
    assert response([states(0, 0.1, 0.4)], states(0, 0.1, 0.4)).minimum.basis == "one"
    shared = response([states(0, 0.1, 0.4)] * 2 + [states(0, 0.3, 0.4)], states(0, 0.2, 0.4), independent=False).minimum
    assert (shared.basis, shared.low) == ("shared", None)
