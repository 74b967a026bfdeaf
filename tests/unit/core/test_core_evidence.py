"""Evidence merges by concatenation, and what is undefined is never averaged."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.evidence import Evidence, mean_score, merge

quick = settings(max_examples=40)
numbers = st.floats(-1e6, 1e6, width=32)
rows = st.lists(st.tuples(numbers, st.booleans()), min_size=1, max_size=12)


def evidence(pairs, **more):
    value, defined = (np.array(column) for column in zip(*pairs, strict=True))
    return Evidence({"value": value.astype(np.float32), "defined": defined.astype(bool), **more})


@quick
@given(rows)
def test_the_mean_is_over_defined_samples_only(pairs):
    known = [value for value, defined in pairs if defined]
    score = mean_score(evidence(pairs))
    assert (score.count, score.defined) == (len(pairs), len(known))
    if known:
        assert score.value == pytest.approx(math.fsum(known) / len(known), rel=1e-9, abs=1e-6)
    else:
        assert score.value is None


@quick
@given(rows, st.data())
def test_blocks_merge_to_the_whole(pairs, source):
    cut = source.draw(st.integers(0, len(pairs)))
    whole = evidence(pairs)
    parts = [part for part in (whole.take(slice(0, cut)), whole.take(slice(cut, None))) if len(part)]
    found = merge(parts)
    assert np.array_equal(found["value"], whole["value"])
    assert np.array_equal(found.defined, whole.defined)
    assert mean_score(found).value == mean_score(whole).value


@quick
@given(rows, st.data())
def test_take_picks_whole_rows_with_repetition(pairs, source):
    index = source.draw(st.lists(st.integers(0, len(pairs) - 1), min_size=1, max_size=9))
    curve = np.arange(2 * len(pairs)).reshape(-1, 2)
    found = evidence(pairs, curve=curve).take(np.array(index))
    assert len(found) == len(index)
    for place, row in enumerate(index):
        assert found["value"][place] == np.float32(pairs[row][0])
        assert found.defined[place] == pairs[row][1]
        assert found["curve"][place].tolist() == curve[row].tolist()


def test_evidence_without_a_word_about_it_is_all_defined():
    found = Evidence({"value": np.array([1.0, 2.0])})
    assert found.defined.tolist() == [True, True]
    assert mean_score(found).value == 1.5


def test_undefined_curves_are_not_averaged():
    curve = np.array([[1.0, 3.0], [100.0, 100.0], [3.0, 5.0]])
    score = mean_score(evidence([(1.0, True), (9.0, False), (2.0, True)], curve=curve))
    assert score.curve.tolist() == [2.0, 4.0]
    assert score.value == 1.5


def test_nothing_defined_is_no_value_and_no_curve():
    score = mean_score(evidence([(1.0, False)], curve=np.ones((1, 2))))
    assert (score.value, score.curve, score.count, score.defined) == (None, None, 1, 0)


def test_means_are_taken_in_double_precision():
    value = np.array([1e8, 1.0, 1.0, 1.0, 1.0], dtype=np.float32)
    assert mean_score(Evidence({"value": value})).value == (1e8 + 4) / 5


def test_arrays_and_back():
    found = Evidence({"value": np.ones(2), "axis.odd": np.zeros(2)}, {"curve": np.arange(3), "rows.odd": np.arange(2)})
    again = Evidence.from_arrays(found.to_arrays())
    assert {name: array.tolist() for name, array in again.rows.items()} == {"value": [1, 1], "axis.odd": [0, 0]}
    assert {name: array.tolist() for name, array in again.axis.items()} == {"curve": [0, 1, 2], "rows.odd": [0, 1]}


def test_a_merge_keeps_the_axis():
    blocks = [Evidence({"value": np.ones(1)}, {"curve": np.arange(3)}) for _ in range(2)]
    assert merge(blocks).axis["curve"].tolist() == [0, 1, 2]
    assert merge(blocks[:1]).rows["value"].tolist() == [1.0]


@pytest.mark.parametrize("dtype", [np.int64, np.uint8])
def test_defined_may_be_written_as_nought_and_one(dtype):
    found = Evidence({"value": np.array([10.0, 20.0, 40.0]), "defined": np.array([1, 0, 1], dtype=dtype)})
    assert mean_score(found).value == 25.0


def test_blocks_over_different_axes_do_not_merge():
    blocks = [Evidence({"curve": np.ones((1, 2))}, {"curve": np.array(axis)}) for axis in ([1, 2], [1, 3])]
    with pytest.raises(ValueError):
        merge(blocks)
