"""Components that print, and errors that are no plain text, spoil no output."""

import json
import subprocess
import sys

import numpy as np
import pytest

from assay.engine.store.store import Store
from assay.report.page import page

LOUD = """
import ctypes
import os
import sys
import torch

print("look at me {")

def shout():
    print("look at me {")
    print("and at me {", file=sys.__stdout__)
    os.system("echo and at me {")
    ctypes.CDLL(None).puts(b"and at me {")

def loud(model, inputs, targets):
    shout()
    return torch.ones_like(inputs)

class Net(torch.nn.Linear):
    def forward(self, x):
        shout()
        return super().forward(x)

def net():
    net = Net(6, 3)
    torch.nn.init.eye_(net.weight)
    torch.nn.init.zeros_(net.bias)
    return net

def cursed(model, inputs, targets):
    raise ValueError("\\x1b[2J\\udcff" + "long " * 6_000_000)
"""
STUDY = """
samples = 2
block = 2
gallery = 0
environments = ["own"]
methods = ["loud:loud", "loud:cursed"]
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


@pytest.mark.parametrize("workers", ["1", pytest.param("0", marks=pytest.mark.full)])
def test_json_is_json_whatever_components_print(folder, workers):
    done = assay(folder, "run", "study.toml", "--store", "s", "--workers", workers, "--json")
    assert done.returncode == 1, done.stderr  # one of the methods failed
    assert json.loads(done.stdout)["failed"] == 1
    assert "look at me" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("run", "study.toml", "--dry-run"), marks=pytest.mark.full),
        ("show", "loud:loud"),
        pytest.param(("check", "loud:loud"), marks=pytest.mark.full),
        ("evaluate", "--model", "loud:net", "--data", "rows.npy", "-m", "gradient", "-s", "deletion", "--workers", "0"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_so_is_that_of_the_other_commands_that_load_components(folder, arguments):
    np.save(folder / "rows.npy", np.linspace(0, 1, 12, dtype=np.float32).reshape(2, 6))
    done = assay(folder, *arguments, "--json")
    assert json.loads(done.stdout)
    assert "look at me" in done.stderr


def test_what_foreign_code_says_is_escaped_and_cut_and_a_page_is_whole_or_as_before(folder, monkeypatch):
    assay(folder, "run", "study.toml", "--store", "s", "--workers", "0")
    store = Store.open(folder / "s", create=False)
    path = page(store, folder / "page")
    before = path.read_text(encoding="utf-8")
    assert r"\x1b[2J\udcff" in before
    assert len(before) < 1_000_000

    def fail(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr("assay.engine.store.files._write", fail)
    with pytest.raises(OSError, match="no space"):
        page(store, folder / "page")
    assert path.read_text(encoding="utf-8") == before
