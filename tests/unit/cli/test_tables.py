"""Numbers on the terminal are the numbers of the result."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from assay.cli.tables import _short, print_result
from assay.report.board import result
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
    assert _short(value) == text
    assert float(_short(value)) == value


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
    assert told.count("mean rank") == len(found.boards)
    assert max(map(len, told.splitlines())) <= width
    assert (told.count(", continued") > 0) == (width < 100)
