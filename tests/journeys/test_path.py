"""What lies in the current folder takes nobody's place: it is looked at last, and only by commands that load code."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import assay
from assay.cli.main import app
from assay.engine.execute.run import run
from assay.studies.file import load

HOSTILE = ("numpy", "json", "random", "socket", "pandas", "typer", "yaml")
STUDY = """
samples = 2
block = 2
gallery = 0
environments = ["color_count(side=8)"]
methods = ["random_map", "mine:zeros"]
metrics = ["f1"]
"""
MINE = """
import torch
def zeros(model, inputs, targets):
    return torch.zeros_like(inputs)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A downloaded study with its store, and files that give themselves away when they are run."""
    found = tmp_path_factory.mktemp("downloaded")
    (found / "study.toml").write_text(STUDY.replace(', "mine:zeros"', ""))
    run(load(found / "study.toml"), found / "s")
    (found / "study.toml").write_text(STUDY)
    (found / "mine.py").write_text(MINE)
    for name in HOSTILE:
        (found / f"{name}.py").write_text(f"open({str(found / 'ran.txt')!r}, 'a').write({name!r})\n")
    return found


def command(folder, *arguments):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    clean["PYTHONPATH"] = str(Path(assay.__path__[0]).parent)
    asked = [sys.executable, "-B", "-m", "assay.cli.main", *arguments]
    return subprocess.run(asked, cwd=folder, env=clean, capture_output=True, text=True, timeout=200)


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", "s", "-o", "page"),
        ("export", "s", "-o", "out.csv"),
        ("ls", "methods"),
        ("show", "mine:zeros"),
        ("run", "study.toml", "--store", "t", "--workers", "1", "--json"),
        ("run", "study.toml", "--store", "u", "--workers", "0", "--json"),
    ],
    ids=lambda arguments: " ".join(arguments),
)
def test_a_file_of_the_current_folder_is_not_run_in_place_of_a_library(folder, arguments):
    done = command(folder, *arguments)
    assert not (folder / "ran.txt").exists(), (folder / "ran.txt").read_text()
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "looks"),
    [(["ls", "methods"], False), (["report", "s", "-o", "p"], False), (["show", "gradient"], True)],
)
def test_only_a_command_that_loads_components_looks_there_and_does_so_last(folder, monkeypatch, arguments, looks):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place != ""])
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert (sys.path[-1] == "") == ("" in sys.path) == looks
