"""Rows per call are arithmetic, and a memory size is read as people write it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import AssayError
from assay.core.machine import CACHE, FAST, STEP, Machine, parse_memory

MACHINES = st.builds(
    Machine, device=st.sampled_from(["cpu", "cuda"]), memory=st.integers(1, 2**40), threads=st.integers(1, 4)
)


@given(MACHINES, st.integers(0, 2**34))
def test_rows_never_exceed_the_budget(machine, per_row):
    rows = machine.rows(per_row)
    assert rows >= 1
    assert rows == 1 or rows * per_row <= machine.memory


@given(MACHINES, st.integers(1, 2**34))
def test_rows_are_what_a_cache_holds_where_the_budget_allows_it(machine, per_row):
    rows, most = machine.rows(per_row), max(1, machine.memory // per_row)
    if machine.device != "cpu" or rows == most:
        assert rows == most
    else:
        assert rows % (STEP * machine.threads) == 0
        assert rows == machine.threads * FAST or rows * per_row <= machine.threads * CACHE
        assert (rows + STEP * machine.threads) * per_row > machine.threads * CACHE


@given(MACHINES, st.integers(0, 300), st.integers(1, 2**32), st.integers(1, 20))
def test_calls_hold_everything_once_within_the_budget(machine, count, per_row, rows):
    parts = list(machine.calls(count, per_row, rows))
    sizes = [part.stop - part.start for part in parts]
    assert [index for part in parts for index in range(part.start, part.stop)] == list(range(count))
    assert all(size >= 1 for size in sizes)
    assert all(size == 1 or size * rows * per_row <= machine.memory for size in sizes)


@given(st.integers(1, 300), st.integers(1, 2**27), st.integers(1, 20))
def test_calls_are_neither_slow_nor_large_where_the_budget_allows_it(count, per_row, rows):
    machine = Machine(memory=2**34)
    sizes = [part.stop - part.start for part in machine.calls(count, per_row, rows)]
    wanted = -(-machine.rows(per_row) // rows)
    assert max(sizes) - min(sizes) <= 1
    assert len(sizes) == 1 or min(sizes) >= wanted
    assert max(sizes) < max(2 * wanted, 2)


@given(st.integers(1, 300), st.integers(1, 60), st.integers(1, 20))
def test_few_rows_are_in_slow_calls(count, most, rows):
    sizes = [part.stop - part.start for part in tight(most * rows).calls(count, ROW, rows)]
    slow = [size for size in sizes if size * rows < FAST]
    if most * rows >= FAST:
        assert len(slow) <= 1


ROW = 2**22  # bytes, of which a cache holds fewer than FAST


def tight(rows):
    """A machine whose budget holds this many rows."""
    return Machine(memory=rows * ROW)


@pytest.mark.parametrize(
    ("count", "most", "rows", "sizes"),
    [
        (50, 100, 2, [8, 8, 9, 8, 8, 9]),  # 16 rows or more in every call, none of 4 at the end
        (50, 9, 2, [8, 8, 9, 8, 8, 9]),  # the budget holds 18 rows
        (24, 18, 1, [18, 6]),  # 12 and 12 would both be slow
        (50, 6, 3, [6] * 8 + [2]),
        (40, 30, 1, [20, 20]),
        (40, 1000, 1, [20, 20]),
        (31, 1000, 1, [31]),
        (3, 1000, 64, [1, 1, 1]),
        (5, 8, 1, [5]),
        (0, 8, 1, []),
    ],
)
def test_calls_of_known_sizes(count, most, rows, sizes):
    assert [part.stop - part.start for part in tight(most * rows).calls(count, ROW, rows)] == sizes


@pytest.mark.parametrize(
    ("machine", "per_row", "rows"),
    [
        (Machine(memory=100), 1000, 1),
        (Machine(memory=700), 100, 7),
        (Machine(memory=1599), 100, 15),
        (Machine(memory=7), 0, 7),
        (Machine(), 2**20, 32),
        (Machine(), 2**20 + 1, 24),  # 31, and a multiple of 8
        (Machine(), 2**22, 16),
        (Machine(), 2**27, 8),  # the budget holds no more
        (Machine(threads=2), 2**22, 32),
        (Machine(device="cuda:0"), 2**20, 1024),
    ],
)
def test_rows_of_known_machines(machine, per_row, rows):
    assert machine.rows(per_row) == rows


def test_a_method_may_want_more_rows_than_a_cache_holds():
    assert Machine().rows(2**22, least=64) == 64
    assert Machine(memory=2**26).rows(2**22, least=64) == 16


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
