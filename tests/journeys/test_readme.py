"""What README quotes is what the commands print."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import make_readme as made
import pytest


def test_no_row_of_the_demo_has_a_large_gap_without_a_mark() -> None:
    for board in made.kept("demo")["boards"]:
        for line in board["methods"]:
            assert (line["gap"] or 0) <= 0.1 or line["gap_mark"]


@pytest.mark.full
@pytest.mark.parametrize("name", ["demo", "baseline"])
def test_the_kept_results_are_what_the_command_prints(name: str, tmp_path: Path) -> None:
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
