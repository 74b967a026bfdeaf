"""What methods are ranked by."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from assay.core.evidence import Score, read_score
from assay.core.records import Record
from assay.engine.store.store import Store
from assay.report.board import Result, arrow, result
from assay.report.page import page
from assay.report.runs import latest_run


def result_with_facts(store: Store, **facts: Any) -> Result:
    """The result with these facts in sensitivity_n's card."""
    run = latest_run(store)
    data: dict[str, Any] = deepcopy(dict(run.data))
    data["run"] = "9999"
    card = data["cards"]["metrics/sensitivity_n"]
    data["cards"]["metrics/sensitivity_n"] = {
        name: value for name, value in (card | facts).items() if value is not None
    }
    store.put(replace(run, key="later", data=data))
    return result(store)


@pytest.mark.parametrize(("facts", "shown"), [({"about": "models"}, "↑"), ({"higher_is_better": None}, "")])
def test_a_metric_about_models_or_without_a_direction_ranks_no_method(
    fresh: Store, facts: dict[str, Any], shown: str
) -> None:
    before, after = result(fresh), result_with_facts(fresh, **facts)
    assert arrow(after.run, "sensitivity_n") == shown
    for old, new in zip(before.boards, after.boards, strict=True):
        for line in new.lines:
            (was,) = (other for other in old.lines if other.method == line.method)
            assert line.cells["sensitivity_n"].rank is None
            assert line.cells["sensitivity_n"].value == was.cells["sensitivity_n"].value
            assert line.cells["f1"].rank == was.cells["f1"].rank
        assert any(line.cells["sensitivity_n"].rank is not None for line in old.lines)
        mean = {line.method: line.mean_rank for line in new.lines}
        assert mean != {line.method: line.mean_rank for line in old.lines}
    page(fresh, fresh.root / "report")


def test_a_cell_says_where_the_metric_reads_another_number_than_the_method_explained(fresh: Store) -> None:
    run_result = result(fresh)
    readouts = {(cell.method, cell.metric): (cell.explains, cell.reads) for cell in run_result.scores()}
    assert {pair for pair, numbers in readouts.items() if any(numbers)} == {("gradient", "sensitivity_n")}
    assert readouts["gradient", "sensitivity_n"] == ("logit", "probability")
    for board in run_result.boards:
        assert "sensitivity_n reads the probability, gradient explains the logit" in board.notes()
    html = page(fresh, fresh.root / "report").read_text(encoding="utf-8")
    assert html.count("sensitivity_n reads the probability, gradient explains the logit.") == len(run_result.boards)
    assert html.count('title="explains the logit, reads the probability"') == len(run_result.boards)


@pytest.mark.parametrize(
    "defined, words", [(0, "undefined on all 6 samples"), (4, "no value: the 4 samples that count reach no level")]
)
def test_a_cell_without_a_value_says_why(defined: int, words: str) -> None:
    record = Record("score", "k", "ok", data=Score(None, 6, defined).data)
    assert read_score(record).reason == words
