"""Numbers on the terminal are the numbers of the result."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from assay.cli.tables import print_result
from assay.report.board import result
from assay.report.words import brief
from assay.store.store import Store
from unit.report.made import IG, Builder


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store.open(tmp_path / "store", sync=False)
    Builder(made).run()
    return made


@pytest.mark.parametrize(
    "value, text",
    [(0.5, ".500"), (-0.25, "-.250"), (1.25, "1.250"), (10.555, "10.555"), (-10.5, "-10.500"), (100.0, "100.000")],
)
def test_only_a_leading_nought_is_left_out(value: float, text: str) -> None:
    assert brief(value) == text
    assert float(brief(value)) == value


def test_what_a_reader_must_know_stands_below_the_table_once(store: Store) -> None:
    found, out = result(store), StringIO()
    print_result(found, Console(width=200, file=out))
    told = out.getvalue()
    assert told.count("sensitivity_n reads the probability, gradient explains the logit\n") == len(found.boards)
    assert told.count(f"f1: random_map (control) does as well as {IG}\n") == len(found.boards)


@pytest.mark.parametrize("width", [40, 60, 100, 200])
def test_no_number_is_cut_however_narrow_the_terminal(store: Store, width: int) -> None:
    found, out = result(store), StringIO()
    print_result(found, Console(width=width, file=out))
    told = out.getvalue()
    assert "…" not in told
    for _, _, _, cell in found.cells():
        if cell.value is not None:
            assert f"{cell.value:.3f}" in told
        if cell.basis == "two":
            first, second = map(brief, cell.per_seed)
            assert f"({first} | {second})" in told
    assert told.count("mean rank") == len(found.boards)
    assert max(map(len, told.splitlines())) <= width
    assert (told.count(", continued") > 0) == (width < 100)


def test_what_intervals_are_over_is_said_once_below_each_table(store: Store) -> None:
    out = StringIO()
    print_result(result(store), Console(width=200, file=out))
    told = out.getvalue()
    assert told.count("95 % intervals over samples") == 2
    assert told.count("two seeds draw two models: both values, no interval") == 1
    assert told.count("no interval: equal in both seeds") == 1
