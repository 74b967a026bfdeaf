"""One question asked through four doors has one answer, also about random components and other people's code."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

import assay
from assay.api import USER_PROCESS
from assay.core.machine import Machine, Resources
from assay.engine.artifacts.artifact import default_block_size
from assay.engine.execute.run import run
from assay.report.board import result
from assay.studies.file import read
from assay.studies.study import BLOCK
from streams import seeded

CODE = """
import torch
from torch import nn

def model():
    generator = torch.Generator().manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return net


def noise(model, inputs, targets):
    return torch.rand_like(inputs)


def luck(model, x, y, a):
    return torch.rand(len(x))
"""
METHODS = ["gradient", "integrated_gradients", "smoothed(of=gradient)", "random_map", "agop", "doors_code:noise"]
METRICS = ["deletion(canvas='zero')", "sensitivity_n(canvas='rows')", "max_sensitivity", "infidelity(canvas='mean')",
           "doors_code:luck"]  # fmt: skip
ROWS = 12


@pytest.fixture
def door(tmp_path, monkeypatch):
    """A folder with the user's module and data."""
    (tmp_path / "doors_code.py").write_text(CODE)
    rows = torch.randn(ROWS + 20, 6, generator=torch.Generator().manual_seed(1)).numpy()
    np.savez(tmp_path / "rows.npz", x=rows[:ROWS], reference_x=rows[ROWS:])
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.modules.pop("doors_code", None)


def own_study(block):
    environment = {
        "use": "own(model='doors_code:model', data='rows.npz')",
        "label": "your model",
        "samples": ROWS,
        "block": block,
    }
    found = read({"environments": [environment], "methods": METHODS, "metrics": METRICS, "gallery": 0}, "doors")
    return replace(found, environments=tuple(replace(entry, rows=ROWS) for entry in found.environments))


@seeded()
def by_study(folder, machine, block=default_block_size("table")):
    found = result(run(own_study(block), folder, Resources(machine=machine)).store)
    return {
        (line.method, metric): cell.value
        for board in found.boards
        for line in board.lines
        for metric, cell in line.cells.items()
    }


@seeded()
def by_evaluate(memory):
    import doors_code

    data = np.load("rows.npz")
    methods = [doors_code.noise if method == "doors_code:noise" else method for method in METHODS]
    metrics = [doors_code.luck if metric == "doors_code:luck" else metric for metric in METRICS]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        found = assay.evaluate(
            doors_code.model(), data["x"], None, methods, metrics, reference=data["reference_x"], memory=memory
        )
    finally:
        torch.set_num_threads(threads)
    assert not [cell.reason for cell in found.cells if cell.status != "ok"]
    again = {"noise": "doors_code:noise", "luck": "doors_code:luck"}
    cells = {(cell.method, cell.metric): cell.value for cell in found.cells}
    return {(again.get(method, method), again.get(metric, metric)): value for (method, metric), value in cells.items()}


def test_three_doors_give_equal_numbers(door):
    machine = Machine()
    study = by_study(door / "study", machine)
    assert study == by_evaluate(machine.memory)
    assert len(study) == len(METHODS) * len(METRICS)

    options = [part for method in METHODS for part in ("--method", method)]
    options += [part for metric in METRICS for part in ("--metric", metric)]
    command = [sys.executable, "-c", "from assay.cli.main import main; main()", "evaluate", "--model",
               "doors_code:model", "--data", "rows.npz", *options, "--workers", "1", "--json"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    rows = [row for board in json.loads(done.stdout)["boards"] for row in board["methods"]]
    command_line = {(row["method"], metric): cell["value"] for row in rows for metric, cell in row["metrics"].items()}
    assert command_line == study


def test_an_attribution_and_its_scores_are_those_of_the_study(door):
    study = by_study(door / "study", Machine(memory=USER_PROCESS.memory), BLOCK)
    environment = "own(model='doors_code:model', data='rows.npz')"
    for method in METHODS:
        found = assay.attribute(environment, method, n=ROWS)
        for metric in METRICS:
            assert found.score(metric).value == study[method, metric]


def test_a_random_callable_gives_equal_numbers_in_two_processes(door):
    script = (
        "import torch, doors_code, assay, json\n"
        "found = assay.evaluate(doors_code.model(), torch.ones(4, 6), methods=[doors_code.noise, lambda model, inputs, "
        "targets: torch.rand_like(inputs)], metrics=['single_deletion', doors_code.luck])\n"
        "print(json.dumps([a.tolist() for a in found.attributions.values()] + [cell.value for cell in found.cells]))\n"
    )
    several = [
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True).stdout
        for _ in range(2)
    ]
    assert several[0] == several[1]
    assert len(json.loads(several[0])) == 2 + 4
