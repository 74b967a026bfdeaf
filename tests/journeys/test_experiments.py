"""The tables of docs/experiments.md are those of the kept results."""

from __future__ import annotations

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from assay.study.shipped import find

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def made() -> ModuleType:
    found = spec_from_file_location("make_experiments", ROOT / "docs" / "make_experiments.py")
    assert found
    assert found.loader
    module = module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_every_table_is_made_from_what_is_kept(made: ModuleType) -> None:
    text = made.PAGE.read_text(encoding="utf-8")
    assert made.written(text) == text, "python docs/make_experiments.py"


def test_a_changed_number_is_noticed(made: ModuleType) -> None:
    text = made.PAGE.read_text(encoding="utf-8")
    block = text.partition("<!-- accuracy -->")[2].partition("<!-- end -->")[0]
    number = re.search(r"0\.\d\d\d", block)
    assert number
    forged = text.replace(block, block.replace(number[0], "0.999", 1))
    assert made.written(forged) == text != forged


def test_kept_results_are_of_the_studies_as_they_are_shipped(made: ModuleType) -> None:
    for name in made.STUDIES:
        study = find(name)
        boards = made.boards(name)
        assert list(boards) == [entry.label for entry in study.environments]
        for board in boards.values():
            assert set(board["methods"]) == {entry.label for entry in study.methods}
            for line in board["methods"].values():
                assert set(line["metrics"]) == {entry.label for entry in study.metrics}
                values = [cell["per_seed"] for cell in line["metrics"].values() if cell["status"] == "ok"]
                assert all(len(per_seed) == len(study.seeds) for per_seed in values)
