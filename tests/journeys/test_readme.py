"""README's Python runs, and prints what README says that it prints."""

from __future__ import annotations

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
from typer.testing import CliRunner

from assay.cli.main import app

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_the_first_example_prints_its_answer() -> None:
    printed, names = StringIO(), dict[str, object]()
    with redirect_stdout(printed):
        for block in blocks("python"):
            exec(block, names)
    (answer,) = blocks("text")
    for line in answer.splitlines():
        assert line == "..." or line in printed.getvalue().splitlines()


@pytest.mark.parametrize("command", sorted(set(re.findall(r"^assay (\w+)", README, flags=re.MULTILINE))))
def test_every_command_exists(command: str) -> None:
    assert CliRunner().invoke(app, [command, "--help"]).exit_code == 0
