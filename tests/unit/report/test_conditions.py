"""A store that mixes results of different options says so, wherever they are shown."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from assay.cli.tables import print_result, to_json
from assay.core.records import Record
from assay.engine.store.store import Store
from assay.report.board import result
from assay.report.conditions import mixed_conditions
from assay.report.export import write
from assay.report.page import page
from unit.report.made import VERSIONS, Builder

MADE = {"device": "cpu", "dtype": "float32", "memory": 2**30, "threads": 1}
SENTENCE = "Made with different options: --memory 1 GB ("


def record(kind: str = "trial", status: str = "ok", **changed: Any) -> Record:
    return Record(kind, "k", status, origin={**MADE, **changed})  # type: ignore[arg-type]


def test_equal_options_are_not_mentioned() -> None:
    assert mixed_conditions([record(), record("evidence"), Record("trial", "of an earlier version", "ok")]) == ""


def test_each_option_that_differs_is_named_with_its_counts() -> None:
    records = [record(), record(), record(memory=2**20), record(threads=2), record(device="cuda")]
    assert mixed_conditions(records) == (
        "Made with different options: --device cpu (4 records) and cuda (1 record); --memory 1 GB (4 records) and 1 MB "
        "(1 record); --threads 1 (4 records) and 2 (1 record). Last digits may differ: docs/determinism.md."
    )


def test_scores_and_failures_have_no_digits_to_differ() -> None:
    assert mixed_conditions([record(), record("score", memory=1), record(status="failed", memory=1)]) == ""


@pytest.fixture
def mixed(tmp_path: Path) -> Store:
    """Records of seed 1 were made with 1 MB."""
    store = Store.open(tmp_path / "store", sync=False)
    Builder(store, lambda seed: {**VERSIONS, **MADE, "memory": 2**20 if seed else 2**30}).run()  # type: ignore[dict-item]
    return store


def test_terminal_page_json_and_export_say_that_a_store_is_mixed(mixed: Store, tmp_path: Path) -> None:
    run_result, out = result(mixed), StringIO()
    print_result(run_result, True, Console(width=300, file=out))
    html = page(mixed, tmp_path / "page").read_text(encoding="utf-8")
    write(mixed, tmp_path / "out.md")
    write(mixed, tmp_path / "out.tex")
    assert to_json(run_result)["mixed"].startswith(SENTENCE)
    for text in (out.getvalue(), html, (tmp_path / "out.tex").read_text()):
        assert SENTENCE in text.replace("{-}", "-")
    assert "Made with different options" in (tmp_path / "out.md").read_text()


def test_a_store_made_alike_says_nothing(tmp_path: Path) -> None:
    store, out = Store.open(tmp_path / "store", sync=False), StringIO()
    Builder(store, lambda seed: {**VERSIONS, **MADE}).run()  # type: ignore[dict-item]
    print_result(result(store), True, Console(width=300, file=out))
    assert "different options" not in out.getvalue()
    assert to_json(result(store))["mixed"] == ""
