"""Models and rows as people have them: none of these is refused, and none stops."""

import copy
import threading

import numpy as np
import pandas as pd
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import assay
from assay.core.errors import SpecError
from assay.foreign.models import checked_copy, count_outputs
from assay.metrics.single_deletion import SingleDeletion
from assay.studies.file import read
from journeys import yours
from streams import seeded

CELL = {"methods": ["occlusion"], "metrics": ["single_deletion(canvas='zero')"], "baseline": "zero"}


def rows(count=12):
    return torch.randn(count, 6, generator=torch.Generator().manual_seed(0))


@seeded()
def net(classes=3):
    layers = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, classes))
    stream = torch.Generator().manual_seed(0)
    for parameter in layers.parameters():
        nn.init.normal_(parameter, generator=stream)
    return layers


def cell(model, x, **given):
    (found,) = assay.evaluate(model, x, **{**CELL, **given}).cells
    return found


def value(model, x, **given):
    found = cell(model, x, **given)
    assert found.status == "ok", found.reason
    return found.value


class Keeps(nn.Module):
    """Holds on to what it computed, in all the places where people put it."""

    def __init__(self):
        super().__init__()
        self.layers, self.seen, self.last = net(), {"all": []}, None

    def forward(self, x):
        self.last = self.layers[0](x)
        self.seen["all"].append(self.last)
        return self.layers[2](self.layers[1](self.last))


class TrainsItsOwnWay(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = net()

    def train(self, mode=True):
        super().train(mode)  # and returns nothing

    def forward(self, x):
        return self.layers(x)


class LeavesTorch(nn.Module):
    def forward(self, x):
        return torch.from_numpy(np.stack([x.numpy().sum(1), -x.numpy().sum(1)], 1))


class TurnsGradientsOff(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = net()

    @torch.no_grad()
    def forward(self, x):
        return self.layers(x)


@seeded()
def weight_normed():
    with pytest.warns(FutureWarning):
        return nn.Sequential(nn.utils.weight_norm(nn.Linear(6, 8)), nn.ReLU(), nn.Linear(8, 3))


def used(model):
    model(rows()).sum().backward()
    return model


MODELS = {
    "scripted": lambda: torch.jit.script(net()),
    "traced": lambda: torch.jit.trace(net(), rows()),
    "weight norm of the old kind": weight_normed,
    "weight norm, trained": lambda: used(weight_normed()),
    "keeps activations": lambda: used(Keeps()),
    "trains its own way": TrainsItsOwnWay,
    "leaves torch": LeavesTorch,
    "without gradients": TurnsGradientsOff,
}


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_models_as_people_write_them_are_judged(make):
    model = make()
    before = copy.deepcopy(dict(model.named_parameters()))
    assert value(model, rows()) > 0.999  # occlusion is what single deletion does
    assert all(torch.equal(before[name], now) for name, now in model.named_parameters())
    assert all(now.requires_grad for now in model.parameters())


@pytest.mark.parametrize("make", [LeavesTorch, TurnsGradientsOff])
def test_where_there_are_no_gradients_methods_that_need_them_are_skipped(make):
    found = cell(make(), rows(), methods=["gradient"])
    assert (found.status, found.reason) == ("skipped", "needs gradients, and this model has none")


def test_a_copy_is_as_far_from_the_model_as_a_copy_can_be():
    model = used(Keeps())
    found = checked_copy(model)
    assert found.last is found.seen["all"][0]
    assert found.last is not model.last
    assert torch.equal(found.last, model.last)


def test_what_nobody_can_copy_is_told():
    model = net()
    model.lock = threading.Lock()
    with pytest.raises(SpecError, match="cannot be copied: TypeError"):
        checked_copy(model)


FRAMES = {
    "floats": rows().numpy(),
    "double": rows().double().numpy(),
    "a list of tensors": list(rows()),
    "a frame": pd.DataFrame(rows().numpy()),
    "a nullable frame": pd.DataFrame({str(k): pd.array(rows().numpy()[:, k], dtype="Float64") for k in range(6)}),
}


@pytest.mark.parametrize("x", FRAMES.values(), ids=FRAMES)
def test_rows_are_read_in_the_model_s_format(x):
    given = {"methods": ["input_x_gradient"]}
    assert value(net(), x, **given) == value(net(), rows(), **given)


def test_columns_of_coins_beside_columns_of_numbers_are_numbers():
    frame = pd.get_dummies(pd.DataFrame({"a": rows()[:, 0].numpy(), "b": 1.0, "c": 2, "k": list("xyz") * 4}))
    assert {str(kind) for kind in frame.dtypes} > {"bool"}
    assert value(net(), frame) == value(net(), torch.tensor(frame.to_numpy(dtype=np.float32)))


@seeded()
def test_logits_that_add_up_to_one_on_these_rows_are_logits():
    parts = nn.Linear(6, 2, bias=False)
    parts.weight.data = torch.tensor([[1.0, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]])
    shares = rows().softmax(dim=1)
    assert value(parts, shares) > 0.999
    with pytest.raises(SpecError, match="without its softmax"):
        count_outputs(nn.Sequential(parts, nn.Softmax(1)), shares, "logits")


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_probabilities_of_half_precision_add_up_to_about_one(classes):
    model = nn.Sequential(net(classes), nn.Softmax(1)).bfloat16()
    assert value(model, rows().bfloat16(), outputs="probabilities") > 0.7


def test_a_single_row_is_in_the_company_of_one_like_it():
    class Logarithm(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = net()

        def forward(self, x):
            assert bool((x > 0).all()), "inputs must be positive"
            return self.layers(F.relu(x).log())

    given = {"baseline": 1.0, "metrics": ["single_deletion(canvas=1.0)"]}
    assert value(Logarithm(), rows(1).abs() + 0.1, **given) > 0.999


def test_a_metric_may_be_given_as_a_class():
    assert value(net(), rows(), metrics=[SingleDeletion]) == value(net(), rows())


SENTENCES = [
    (lambda: {"model": nn.Sequential(nn.LazyLinear(3))}, "lazy layers that were never called"),
    (lambda: {"model": net(1)}, "outputs='value'"),
    (lambda: {"model": nn.Sequential(net(4), nn.Unflatten(1, (2, 2)))}, r"answers a batch of 8 with \(8, 2, 2\)"),
    (lambda: {"x": rows().to_sparse()}, r"x is a sparse tensor: give x\.to_dense\(\)"),
    (lambda: {"memory": "1GB"}, "give a number of bytes"),
    (lambda: {"metrics": 3}, "give a list"),
    (
        lambda: {"methods": rows()},
        "methods is Tensor: give a list of specs or objects, or a dict with a label for each",
    ),
    (lambda: {"methods": [yours.Explainer()]}, "does not keep the model that it was made for"),
]


@pytest.mark.parametrize("given, words", SENTENCES)
def test_what_is_refused_is_refused_in_words_that_help(given, words):
    asked = {"model": net(), "x": rows(), **CELL, **given()}
    with pytest.raises(SpecError, match=words):
        assay.evaluate(asked.pop("model"), asked.pop("x"), **asked)


def test_a_model_that_keeps_activations_can_be_studied_and_copied_by_metrics(tmp_path):
    np.savez(tmp_path / "rows.npz", x=rows().numpy())
    names = ["parameter_randomisation", "axiom_linearity", "single_deletion"]
    table = {
        "environments": [f"own(model='journeys.test_evaluate_accepts:Keeps', data='{tmp_path / 'rows.npz'}')"],
        "methods": ["gradient"],
        "metrics": names,
        "samples": 4,
        "block": 4,
        "gallery": 0,
    }
    found = assay.run(read(table, "some"), store=tmp_path / "st").result
    cells = found.boards[0].lines[0].cells
    assert {name: cell.status for name, cell in cells.items()} == dict.fromkeys(names, "ok"), cells
