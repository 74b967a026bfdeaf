"""Bars of a sample: which features, in which order, called what, and what the others add up to."""

from __future__ import annotations

import numpy as np
import pytest

from assay.report.feature_bars import MOST, BarColumn, feature_bars
from assay.report.pictures import draw_contact_sheet
from assay.report.samples import GallerySamples


def samples(values: np.ndarray, **changed: object) -> GallerySamples:
    count = values.shape[1]
    facts = {
        "kind": "table",
        "names": tuple(f"c{index}" for index in range(count)),
        "groups": tuple(range(count)),
        "x": np.arange(values.size, dtype=np.float32).reshape(values.shape) + 0.5,
        "maps": {"m": values},
        "indices": tuple(range(len(values))),
    }
    return GallerySamples("place", **{**facts, **changed})  # type: ignore[arg-type]


def test_the_largest_stand_first_with_the_values_of_their_columns() -> None:
    found = feature_bars(samples(np.array([[1.0, -3.0, 2.0]])), 0, [np.array([[1.0, -3.0, 2.0]])])
    assert found.labels == ("c1 = 1.5", "c2 = 2.5", "c0 = 0.5")
    (column,) = found.columns
    assert isinstance(column, BarColumn)
    assert (column.values.tolist(), column.largest, column.others, found.hidden) == ([-3, 2, 1], 3.0, 0.0, 0)


def test_what_is_left_of_rounding_is_shown_as_nothing_and_a_small_value_is_not() -> None:
    values = np.array([[0.1, 2.8e-17, -1e-9, *[1e-17] * MOST]])
    (column,) = feature_bars(samples(values), 0, [values]).columns
    assert isinstance(column, BarColumn)
    assert (column.values[:3].tolist(), column.others) == ([0.1, -1e-9, 0.0], 0.0)
    assert not column.values[3:].any()


@pytest.mark.parametrize(("count", "shown"), [(MOST, MOST), (MOST + 1, MOST + 1), (MOST + 2, MOST), (100, MOST)])
def test_many_features_are_added_up_and_one_is_not(count: int, shown: int) -> None:
    values = np.arange(1.0, count + 1)[None] * (-1) ** np.arange(count)
    found = feature_bars(samples(values), 0, [values])
    (column,) = found.columns
    assert isinstance(column, BarColumn)
    assert (len(found.labels), found.hidden) == (shown, count - shown)
    assert column.values.sum() + column.others == pytest.approx(values.sum())
    assert column.others == pytest.approx(values[0, : count - shown].sum())
    assert column.largest == count


def test_all_columns_show_the_features_of_the_first_and_a_single_method_shows_its_own_next_to_the_truth() -> None:
    truth, left, right = np.array([[3.0, 2, 1]]), np.array([[1.0, 2, 3]]), np.array([[0.0, 9, 0]])
    many = samples(left, maps={"left": left, "right": right}, truth=truth)
    assert feature_bars(many, 0, [truth, left, right]).labels == ("c0 = 0.5", "c1 = 1.5", "c2 = 2.5")
    alone = samples(left, truth=truth)
    assert feature_bars(alone, 0, [truth, left]).labels == ("c2 = 2.5", "c1 = 1.5", "c0 = 0.5")


def test_a_column_without_numbers_keeps_its_reason_and_features_have_names_all_the_same() -> None:
    values = np.array([[1.0, 2.0]])
    found = feature_bars(samples(values, maps={"a": "failed: x", "b": values}), 0, ["failed: x", values])
    assert found.columns[0] == "failed: x"
    assert found.labels[0] == "c1 = 1.5"
    none = feature_bars(samples(values, maps={"a": "failed: x"}), 0, ["failed: x"])
    assert (none.columns, none.labels) == (("failed: x",), ("c0 = 0.5", "c1 = 1.5"))
    assert draw_contact_sheet(samples(values, maps={"a": "failed: x"}), ["a"]).width > 400


def test_values_are_words_where_the_sample_has_some_and_blocks_of_entries_have_none() -> None:
    values = np.array([[2.0, 1.0]])
    coded = samples(values, groups=(0, 1, 1), x=np.array([[39.0, 0.0, 1.0]]))
    assert coded.label(0, 0) == "c0 = 39"
    assert coded.label(0, 1) == "c1"
    worded = samples(values, words=(("39", "Private"),))
    assert [worded.label(0, feature) for feature in (0, 1)] == ["c0 = 39", "c1 = Private"]
    assert samples(values, names=()).label(0, 1) == "column 1 = 1.5"
    assert samples(values, names=(), kind="tokens", groups=()).label(0, 1) == "position 1"


@pytest.mark.parametrize(
    ("value", "text"), [(39.0, "39"), (0.123456, "0.1235"), (12345.0, "12345"), (-7688.5, "-7688.5")]
)
def test_values_are_short_and_not_rounded_to_others(value: float, text: str) -> None:
    assert samples(np.array([[1.0]]), x=np.array([[value]])).label(0, 0) == f"c0 = {text}"
