"""Somebody's code that changes the model is nobody else's trouble."""

import sys

import pytest
import torch

import assay
from assay.engine.store.store import Store
from assay.report.board import result
from assay.studies.file import read
from streams import seeded

VANDALS = """
import torch

def _right(model, x, a):
    with torch.no_grad():
        return [float(value) for value in model(x).sum(dim=1) + a.flatten(1).sum(dim=1)]

def honest(model, x, y, a):
    return _right(model, x, a)

def wipes(model, x, y, a):
    found = _right(model, x, a)
    for parameter in model.parameters():
        parameter.data.zero_()
    return found

def trains(model, x, y, a):
    found = _right(model, x, a)
    model.train()
    return found

def hooks(model, x, y, a):
    found = _right(model, x, a)
    model.register_forward_hook(lambda module, given, out: 0 * out)
    return found

def patches(model, x, y, a):
    found = _right(model, x, a)
    plain = model.forward
    model.forward = lambda given: -plain(given)
    return found

def flips(model, x, y, a):
    found = _right(model, x, a)
    for parameter in model.parameters():
        parameter.data.copy_(parameter.data.flip(0))
    return found

def sets(model, x, y, a):
    found = _right(model, x, a)
    for module in model.modules():
        module.p = 0.9
    return found

def wiping_method(model, inputs, targets):
    for parameter in model.parameters():
        parameter.data.zero_()
    return inputs

def infinite(model, x, y, a):
    return [float("inf")] * len(x)
"""
TINY = "tabular_rule(d=6, informative=3, train_rows=64, hidden=(8,), epochs=2, batch=32, lr=0.01)"
HONEST = ["vandals:honest", "deletion(steps=4)", "single_deletion"]


@pytest.fixture
def vandals(tmp_path, monkeypatch):
    (tmp_path / "vandals.py").write_text(VANDALS)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("vandals", None)


def studied(store, metrics, methods=("gradient", "random_map")):
    table = {"environments": [TINY], "methods": list(methods), "metrics": metrics, "samples": 4, "block": 2}
    assay.run(read(table, "some"), store=store)
    (board,) = result(Store.open(store, create=False)).boards
    return {(line.method, name): cell.value for line in board.lines for name, cell in line.cells.items()}


@pytest.mark.parametrize("vandal", ["wipes", "trains", "hooks", "patches", "flips", "sets"])
def test_metrics_after_one_that_changes_the_model_find_it_as_it_was(tmp_path, vandals, vandal):
    right = studied(tmp_path / "right", HONEST)
    found = studied(tmp_path / "found", [f"vandals:{vandal}", *HONEST])
    assert right == {cell: value for cell, value in found.items() if cell in right}
    with seeded():
        model = torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.Dropout(), torch.nn.Linear(4, 3))
    x = torch.randn(6, 6, generator=torch.Generator().manual_seed(0))
    both = [
        assay.evaluate(model, x, None, ["gradient", "occlusion"], names)
        for names in (HONEST, [f"vandals:{vandal}", *HONEST])
    ]
    for cell in both[0].cells:
        assert both[1][cell.method, cell.metric].value == cell.value


def test_methods_after_one_that_changes_the_model_find_it_as_it_was(tmp_path, vandals):
    right = studied(tmp_path / "right", HONEST)
    found = studied(tmp_path / "found", HONEST, ["vandals:wiping_method", "gradient", "random_map"])
    assert right == {cell: value for cell, value in found.items() if cell in right}


def test_infinite_values_are_a_failure_and_not_undefined(vandals):
    x = torch.randn(3, 6, generator=torch.Generator().manual_seed(0))
    with seeded():
        model = torch.nn.Linear(6, 3)
    (cell,) = assay.evaluate(model, x, None, ["gradient"], ["vandals:infinite"]).cells
    assert (cell.status, cell.value) == ("failed", None)
    assert "infinite" in cell.reason
