"""Components that print, and errors that are no plain text, spoil no output."""

import json
import subprocess
import sys

import pandas as pd
import pytest

from assay.report.page import page
from assay.store.store import Store

LOUD = """
import os
import torch

def loud(model, inputs, targets):
    print("look at me {")
    os.system("echo and at me {")
    return torch.ones_like(inputs)

def cursed(model, inputs, targets):
    raise ValueError("\\x1b[2J\\udcff" + "long " * 1_000_000)
"""
STUDY = """
samples = 2
block = 2
gallery = 0
environments = ["own"]
methods = [{ use = "loud:loud", label = "=1+1" }, "loud:cursed"]
metrics = ["deletion"]
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "loud.py").write_text(LOUD)
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


def assay(folder, *arguments):
    command = [sys.executable, "-m", "assay.cli.main", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("workers", ["0", "1"])
def test_json_is_json_whatever_components_print(folder, workers):
    done = assay(folder, "run", "study.toml", "--store", "s", "--workers", workers, "--json")
    assert done.returncode == 1, done.stderr  # one of the methods failed
    assert json.loads(done.stdout)["failed"] == 1
    assert "look at me" in done.stderr


def test_what_foreign_code_says_is_escaped_and_cut_and_a_page_is_whole_or_as_before(folder, monkeypatch):
    assay(folder, "run", "study.toml", "--store", "s", "--workers", "1")
    store = Store.open(folder / "s", create=False)
    path = page(store, folder / "page")
    before = path.read_text(encoding="utf-8")
    assert r"\x1b[2J\udcff" in before
    assert len(before) < 1_000_000
    assert assay(folder, "export", "s", "-o", "out.csv").returncode == 0
    assert set(pd.read_csv(folder / "out.csv")["method"]) == {"'=1+1", "loud:cursed"}  # no formula

    def fail(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr("assay.store.files._write", fail)
    with pytest.raises(OSError, match="no space"):
        page(store, folder / "page")
    assert path.read_text(encoding="utf-8") == before
