"""The examples run as they stand, and are short."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))
QUICK = "in_your_tests"


def python(*arguments, folder):
    environment = {**os.environ, "PYTHONPATH": ""}
    done = subprocess.run(
        [sys.executable, *map(str, arguments)], cwd=folder, env=environment, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "script",
    [pytest.param(path, id=path.stem, marks=() if path.stem == QUICK else pytest.mark.full) for path in SCRIPTS],
)
def test_every_example_runs(script, tmp_path):
    assert python(script, folder=tmp_path)


@pytest.mark.parametrize("path", sorted(EXAMPLES.rglob("*.py")), ids=lambda path: path.stem)
def test_no_example_is_longer_than_forty_lines(path):
    assert len(path.read_text().splitlines()) <= 40


@pytest.mark.full
def test_a_method_of_ten_lines_a_callable_a_captum_class_and_arrays_run_in_a_study(tmp_path):
    folder = tmp_path / "mine"
    shutil.copytree(EXAMPLES / "bring_your_own", folder)
    python("make_maps.py", folder=folder)
    told = json.loads(python("-m", "assay.cli.main", "run", "study.toml", "--store", "s", "--json", folder=folder))
    (board,) = told["boards"]
    found = {line["method"]: line["metrics"]["f1"] for line in board["methods"]}
    assert len(found) == 5
    assert all(cell["status"] == "ok" and cell["value"] is not None for cell in found.values())
    assert found["ten lines of mine"]["value"] > 0.7 > found["random_map"]["value"]
