"""Numbers on the terminal are the numbers of the result."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from assay.cli.tables import print_result
from assay.core.evidence import Score
from assay.engine.store.store import Store
from assay.report.board import Board, Line, result
from assay.report.controls import unbeaten_controls
from assay.report.text import without_leading_zero
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
    assert without_leading_zero(value) == text
    assert float(without_leading_zero(value)) == value


def test_what_a_reader_must_know_stands_below_the_table_once(store: Store) -> None:
    run_result, out = result(store), StringIO()
    print_result(run_result, True, Console(width=200, file=out))
    text = out.getvalue()
    assert text.count("sensitivity_n reads the probability, gradient explains the logit\n") == len(run_result.boards)
    assert text.count(f"f1: random_map (control) does as well as {IG}\n") == len(run_result.boards)


@pytest.mark.parametrize(("gradient", "random_map", "told"), [(1, 2, 0), (1.5, 1.5, 1), (2, 1, 1)])
def test_a_control_does_as_well_as_a_method_with_the_same_rank(
    store: Store, gradient: float, random_map: float, told: int
) -> None:
    ranks, run = {"gradient": gradient, "random_map": random_map}, result(store).run
    lines = tuple(Line(method, {"f1": Score(0.5, rank=rank)}, None) for method, rank in ranks.items())
    found = [str(unbeaten) for unbeaten in unbeaten_controls(run, Board("anywhere", ("f1",), lines))]
    assert found == ["f1: random_map (control) does as well as gradient"] * told


@pytest.mark.parametrize("width", [40, 60, 100, 200])
def test_no_number_is_cut_however_narrow_the_terminal(store: Store, width: int) -> None:
    run_result, out = result(store), StringIO()
    print_result(run_result, True, Console(width=width, file=out))
    text = out.getvalue()
    assert "…" not in text
    for cell in run_result.scores():
        if cell.value is not None:
            assert f"{cell.value:.3f}" in text
        if cell.basis == "two":
            first, second = map(without_leading_zero, cell.per_seed)
            assert f"({first} | {second})" in text
    assert text.count("mean rank") == len(run_result.boards)
    assert max(map(len, text.splitlines())) <= width
    assert (text.count(", continued") > 0) == (width < 100)


def test_what_intervals_are_over_is_printed_once_below_each_table(store: Store) -> None:
    out = StringIO()
    print_result(result(store), True, Console(width=200, file=out))
    text = out.getvalue()
    assert text.count("95 % intervals over samples") == 2
    assert text.count("two seeds draw two models: both values, no interval") == 1
    assert text.count("no interval: equal in both seeds") == 1
