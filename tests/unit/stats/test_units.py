"""The units that methods are compared on."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core.evidence import Evidence, Score, mean_score
from assay.stats.units import deviation, score_units


def rows(values: list[float], defined: list[bool] | None = None) -> Evidence:
    columns = {"value": np.array(values)}
    return Evidence(columns if defined is None else {**columns, "defined": np.array(defined)})


def median(evidence: Evidence) -> Score:
    return Score(float(np.median(evidence["value"])), len(evidence), len(evidence))


def test_a_sample_of_two_seeds_is_one_unit_wherever_it_is_defined() -> None:
    per_seed = [rows([1.0, 2.0, 0.0], [True, True, False]), rows([5.0, 0.0, 0.0], [True, False, False])]
    units = score_units(per_seed, [1.5, 5.0], mean_score, False, [["a", "b", "c"], ["b", "a", "c"]])
    assert units.unit == "samples"
    assert units.values is not None
    assert units.defined is not None
    assert units.values.tolist() == [1.0, 3.5, 0.0]
    assert units.defined.tolist() == [True, True, False]


def test_a_seed_without_a_value_keeps_the_place_of_its_samples() -> None:
    per_seed = [rows([0.0, 0.0], [False, False]), rows([3.0, 5.0])]
    units = score_units(per_seed, [None, 4.0], mean_score, False)
    assert units.arrays["samples"].tolist() == [0, 0, 3, 5]
    assert units.arrays["samples_defined"].tolist() == [False, False, True, True]


@pytest.mark.parametrize(("identities", "unit"), [(None, "seeds"), ([[0, 1, 2], [0, 1, 3]], "")])
def test_a_score_of_the_whole_set_is_compared_over_seeds_that_share_no_sample(
    identities: list[list[int]] | None, unit: str
) -> None:
    per_seed = [rows([1.0, 2.0, 9.0]), rows([1.0, 3.0, 9.0])]
    units = score_units(per_seed, [2.0, 3.0], median, False, identities)
    assert (units.unit, units.arrays) == (unit, {})


def test_the_deviation_needs_two_seeds() -> None:
    assert deviation([1.0, None, 3.0]) == pytest.approx(np.sqrt(2))
    assert deviation([1.0, None]) is None
    assert deviation([]) is None


def test_seeds_that_are_equal_up_to_rounding_have_no_deviation() -> None:
    assert deviation([0.9, 0.9 + 1e-9, 0.9 - 1e-9]) == 0
    assert deviation([1e-9, 2e-9]) == pytest.approx(1e-9 / np.sqrt(2))  # small values that do differ
