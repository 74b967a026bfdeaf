"""README's tables are those of the kept results, and the kept results are what the commands print."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def made() -> ModuleType:
    found = spec_from_file_location("make_readme", ROOT / "docs" / "make_readme.py")
    assert found
    assert found.loader
    module = module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_every_table_is_made_from_what_is_kept(made: ModuleType) -> None:
    text = made.README.read_text(encoding="utf-8")
    assert made.written(text) == text, "python docs/make_readme.py"


def test_a_changed_number_is_noticed(made: ModuleType) -> None:
    text = made.README.read_text(encoding="utf-8")
    block = text.partition("<!-- demo -->")[2].partition("<!-- end -->")[0]
    number = re.search(r"0\.\d\d\d", block)
    assert number
    forged = text.replace(block, block.replace(number[0], "0.999", 1))
    assert made.written(forged) == text != forged


def test_no_row_of_the_demo_has_a_large_gap_without_a_mark(made: ModuleType) -> None:
    for board in made.kept("demo")["boards"]:
        for line in board["methods"]:
            assert (line["gap"] or 0) <= 0.1 or line["gap_mark"]


@pytest.mark.full
@pytest.mark.parametrize("name", ["demo", "baseline"])
def test_the_kept_results_are_what_the_command_prints(made: ModuleType, name: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "assay.cli.main", *made.COMMANDS[name][:-1], str(tmp_path), "--json"]
    told = made._shortened(json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout))
    for board, before in zip(told["boards"], made.kept(name)["boards"], strict=True):
        known = {line["method"]: line["metrics"] for line in before["methods"]}
        for line in board["methods"]:
            for metric, cell in line["metrics"].items():
                assert cell["value"] == pytest.approx(known[line["method"]][metric]["value"], abs=5e-4)
    assert [found["outcome"] for tests in told["faithfulness"].values() for found in tests] == [
        found["outcome"] for tests in made.kept(name)["faithfulness"].values() for found in tests
    ]
