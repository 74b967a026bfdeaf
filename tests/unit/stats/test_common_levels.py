"""Curves are compared at levels that all of them reach."""

import numpy as np
import pytest

from assay.stats.common_levels import common_levels, mean_at, value_at

RISING = np.array([[0.2, 0.4, 0.6, 0.8], [1.0, 0.9, 0.8, 0.7]])
DIPPING = np.array([[0.1, 0.5, 0.3, np.nan], [1.0, 0.6, 0.5, np.nan]])


@pytest.mark.parametrize(("level", "value"), [(0.1, 1.0), (0.2, 1.0), (0.2 + 1e-12, 1.0), (0.3, 0.9), (0.8, 0.7)])
def test_the_value_at_a_level_is_that_of_the_first_step_with_it_or_more(level, value):
    assert value_at(RISING, level) == value


def test_a_level_that_no_step_reaches_has_no_value():
    assert value_at(RISING, 0.9) is None
    assert value_at(DIPPING, 0.6) is None
    assert value_at(np.full((2, 3), np.nan), 0.1) is None


def test_levels_in_common_are_those_that_every_curve_reaches():
    assert common_levels([RISING, DIPPING], (0.1, 0.3, 0.5, 0.7)) == (0.1, 0.3, 0.5)
    assert common_levels([RISING], (0.7, 0.9)) == (0.7,)


def test_the_mean_is_over_all_levels_or_there_is_none():
    assert mean_at(DIPPING, (0.1, 0.3)) == pytest.approx((1.0 + 0.6) / 2)
    assert mean_at(DIPPING, (0.1, 0.7)) is None
    assert mean_at(RISING, ()) is None
