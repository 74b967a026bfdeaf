"""Rows per call are arithmetic, and a memory size is read as people write it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import AssayError
from assay.core.machine import FAST, Machine, call_slices, parse_memory


@given(st.integers(1, 2**40), st.integers(0, 2**34))
def test_rows_fit_the_budget_and_fill_it(memory, per_row):
    rows = Machine(memory=memory).rows(per_row)
    assert rows >= 1
    assert rows == 1 or rows * per_row <= memory
    assert (rows + 1) * max(1, per_row) > memory


@given(st.integers(0, 300), st.integers(1, 60), st.integers(1, 20))
def test_parts_are_as_few_as_fit_and_hold_everything_once(count, most, rows):
    parts = list(call_slices(count, most, rows))
    sizes = [part.stop - part.start for part in parts]
    assert [index for part in parts for index in range(part.start, part.stop)] == list(range(count))
    assert all(1 <= size <= most for size in sizes)
    assert len(parts) == -(-count // most)


@given(st.integers(1, 300), st.integers(1, 60), st.integers(1, 20))
def test_few_rows_are_in_slow_calls(count, most, rows):
    sizes = [part.stop - part.start for part in call_slices(count, most, rows)]
    slow = [size for size in sizes if size * rows < FAST]
    if most * rows >= FAST:
        assert len(slow) <= 1
    if not slow:
        assert max(sizes) - min(sizes) <= 1 or min(sizes) * rows >= FAST


@pytest.mark.parametrize(
    ("count", "most", "rows", "sizes"),
    [
        (50, 9, 2, [8, 8, 9, 8, 8, 9]),  # no call of 10 rows at the end
        (24, 18, 1, [18, 6]),  # 12 and 12 would both be slow
        (50, 6, 3, [6] * 8 + [2]),
        (40, 30, 1, [20, 20]),
        (5, 8, 1, [5]),
        (0, 8, 1, []),
    ],
)
def test_parts_of_known_sizes(count, most, rows, sizes):
    assert [part.stop - part.start for part in call_slices(count, most, rows)] == sizes


@pytest.mark.parametrize(
    ("memory", "per_row", "rows"),
    [(100, 1000, 1), (700, 100, 7), (800, 100, 8), (1599, 100, 15), (1600, 100, 16), (7, 0, 7)],
)
def test_rows_of_known_budgets(memory, per_row, rows):
    assert Machine(memory=memory).rows(per_row) == rows


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1MB", 2**20),
        ("512 MB", 512 * 2**20),
        ("2g", 2 * 2**30),
        ("1.5GB", 3 * 2**29),
        (" 4 GiB ", 4 * 2**30),
        ("2048k", 2**21),
        ("1048576", 2**20),
        ("1048576B", 2**20),
        ("32mb", 32 * 2**20),
    ],
)
def test_a_memory_size_is_read_as_written(text, size):
    assert parse_memory(text) == size


@pytest.mark.parametrize(
    "text", ["", "MB", "1TB", "1e9", "-1GB", "1,5GB", "one GB", "1GBs", ".5GB", "nan", "inf", "0x10MB"]
)
def test_what_is_no_size_is_refused_with_an_example(text):
    with pytest.raises(AssayError, match="Write for example 512MB or 2GB"):
        parse_memory(text)


@pytest.mark.parametrize("text", ["0", "0GB", "1023k", "0.5MB", "100"])
def test_a_budget_that_is_too_small_is_refused(text):
    with pytest.raises(AssayError, match="give at least 1MB"):
        parse_memory(text)


def test_a_size_beyond_all_measure_is_refused():
    with pytest.raises(AssayError):
        parse_memory("9" * 400 + "GB")
