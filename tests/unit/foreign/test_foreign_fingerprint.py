"""What a model in memory holds is known, and whether somebody changed it is noticed."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from assay.foreign.fingerprint import fingerprint
from streams import seeded

MADE = """
import torch
from torch import nn
from assay.foreign.fingerprint import fingerprint
model = nn.Linear(2, 2)
nn.init.ones_(model.weight), nn.init.zeros_(model.bias)
model.names = dict.fromkeys({"a", "b", "c", "d", "e"}, 1)
model.odd = {object(): 1, "kept": 2}
compiled = torch.compile(model, backend="eager")
print(fingerprint(model), fingerprint(compiled))
"""


def test_every_process_finds_the_same():
    found = {
        subprocess.run([sys.executable, "-c", MADE], capture_output=True, text=True, check=True, timeout=120).stdout
        for _ in range(2)
    }
    assert len(found) == 1


ODD = {
    "series": lambda: pd.Series([1.0]),
    "index": lambda: pd.Index(["a"]),
    "a class": lambda: torch.Tensor,
    "dtype": lambda: torch.float16,
    "dates": lambda: np.array(["2020-01-01"], dtype="datetime64[D]"),
    "sparse": lambda: torch.eye(2).to_sparse(),
    "rows": lambda: torch.eye(2).to_sparse_csr(),
    "eight bits": lambda: torch.ones(2).to(torch.float8_e4m3fn),
    "nothing": lambda: torch.empty(0, 3),
    "one": lambda: torch.tensor(1.0),
    "complex": lambda: torch.ones(2, 2, dtype=torch.complex64),
}


@pytest.mark.parametrize("make", ODD.values(), ids=ODD)
@pytest.mark.filterwarnings("ignore::UserWarning")
@seeded()
def test_whatever_a_model_holds_is_no_trouble(make):
    model = nn.Linear(2, 2)
    model.odd = make()
    assert fingerprint(model) == fingerprint(model)
    if isinstance(model.odd, torch.Tensor):
        held = nn.Linear(2, 2)
        held.register_buffer("odd", make())
        assert fingerprint(held) == fingerprint(held)


@seeded()
def test_numbers_that_are_none_are_equal_to_themselves():
    model = nn.Linear(2, 2)
    model.register_buffer("odd", torch.tensor([float("nan"), float("inf"), -float("inf")]))
    assert fingerprint(model) == fingerprint(model)


CHANGES = {
    "rows that change places": lambda m: m[0].weight.data.copy_(m[0].weight.data.flip(0)),
    "columns that change places": lambda m: m[0].weight.data.copy_(m[0].weight.data.flip(1)),
    "one number": lambda m: m[0].weight.data[0, 0].add_(1),
    "a plain value": lambda m: setattr(m[1], "negative_slope", 0.5),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@seeded()
def test_a_change_is_noticed(change):
    model = nn.Sequential(nn.Linear(3, 2), nn.LeakyReLU()).eval()
    model[0].weight.data = torch.tensor([[1.0, 2, 4], [4, 2, 1]])
    before = fingerprint(model)
    assert fingerprint(model) == before
    change(model)
    assert fingerprint(model) != before
