"""A user's model and rows as an environment."""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from assay.catalogue.registry import identity, resolve
from assay.core.errors import SpecError
from assay.core.spec import Spec
from assay.environments.own import Own
from assay.users.read import read_rows


def test_samples_are_rows_and_seeds_only_reorder_them(tmp_path) -> None:
    x = np.arange(30.0).reshape(5, 6)
    np.savez(tmp_path / "d.npz", x=x, y=[0, 1, 2, 1, 0])
    own = Own(data=str(tmp_path / "d.npz"))
    plain, other = own.sample(range(5), 0), own.sample(range(5), 1)
    np.testing.assert_array_equal(plain.x.numpy(), x)
    assert plain.label.tolist() == [0, 1, 2, 1, 0]
    assert sorted(other.x[:, 0].tolist()) == x[:, 0].tolist()
    assert other.x[:, 0].tolist() != x[:, 0].tolist()
    for row, label in zip(other.x, other.label, strict=True):
        assert [0, 1, 2, 1, 0][int(row[0]) // 6] == label
    with pytest.raises(SpecError, match="row 5 was asked for"):
        own.sample(range(6), 0)


def test_without_labels_the_model_s_own_predictions_stand_for_them(tmp_path) -> None:
    np.save(tmp_path / "d.npy", np.eye(6))
    own = Own(data=str(tmp_path / "d.npy"))
    samples, setting = own.sample(range(6), 0), own.setting(0, {})
    assert torch.equal(samples.label, setting.model(samples.x).argmax(dim=1))
    assert Own(data=own.data, outputs="value").sample(range(6), 0).label.tolist() == [0] * 6


def test_a_changed_file_and_changed_code_change_the_key(tmp_path, monkeypatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "mine_for_keys.py").write_text("from torch import nn\ndef net(): return nn.Identity()\n")
    np.save(tmp_path / "d.npy", np.eye(3))
    spec = resolve("environments", Spec.of("own", model="mine_for_keys:net", data=str(tmp_path / "d.npy")))
    before = identity("environments", spec)
    np.save(tmp_path / "d.npy", 2 * np.eye(3))
    changed = identity("environments", spec)
    assert before != changed
    assert before["params"]["model"]["source"]


@pytest.mark.parametrize(
    "arrays, words",
    [
        ({"y": np.eye(2)}, "no rows: name their array 'x'"),
        ({"x": np.eye(2), "y": np.zeros(3)}, "one label per row"),
        ({"x": np.eye(2), "reference_y": np.zeros(3)}, "one label per row"),
    ],
)
def test_files_that_do_not_fit(tmp_path, arrays, words) -> None:
    np.savez(tmp_path / "d.npz", **arrays)
    with pytest.raises(SpecError, match=words):
        Own(data=str(tmp_path / "d.npz")).sample([0], 0)


def test_shapes_that_are_no_images_and_no_tables() -> None:
    with pytest.raises(SpecError, match=r"shape \(2, 3, 4\)"):
        read_rows(torch.zeros(2, 3, 4))


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """Write a module and a file of rows; the module's name, and how the model is asked for."""
    monkeypatch.syspath_prepend(str(tmp_path))
    np.save(tmp_path / "d.npy", np.eye(3) + 1)
    names = []

    def write(name: str, source: str) -> None:
        names.append(name)
        (tmp_path / f"{name}.py").write_text(f"import torch\nfrom torch import nn\n{source}\n")

    yield lambda name, source, **more: (
        write(name, source),
        Own(model=f"{name}:net", data=str(tmp_path / "d.npy"), **more),
    )[1]
    for name in names:
        sys.modules.pop(name, None)


SCALED = "def net():\n    layer = nn.Linear(3, 2)\n    layer.load_state_dict({s})\n    return layer"


def scaled(factor: float) -> str:
    return SCALED.replace("{s}", f"{{'weight': torch.ones(2, 3) * {factor}, 'bias': torch.zeros(2)}}")


def test_a_module_that_is_edited_and_loaded_again_makes_another_model(mine) -> None:
    own = mine("mine_reloaded", scaled(2.0))
    assert float(own.setting(0, {}).model.weight[0, 0]) == 2
    mine("mine_reloaded", scaled(30.0))
    importlib.reload(sys.modules["mine_reloaded"])
    assert float(own.setting(0, {}).model.weight[0, 0]) == 30
    assert torch.equal(own.sample([0], 0).label, own.setting(0, {}).model(own.sample([0], 0).x).argmax(dim=1))


def test_a_module_below_that_is_loaded_again_makes_another_model(mine) -> None:
    mine("mine_below", scaled(2.0))
    own = mine("mine_above", "import mine_below\ndef net():\n    return mine_below.net()")
    assert float(own.setting(0, {}).model.weight[0, 0]) == 2
    mine("mine_below", scaled(30.0))
    importlib.reload(sys.modules["mine_below"])
    assert float(own.setting(0, {}).model.weight[0, 0]) == 30


@pytest.mark.draws("somebody else's module makes a layer as it is imported")
def test_a_model_in_a_module_stays_as_it_is(mine, tmp_path) -> None:
    save_file({"weight": torch.full((2, 3), 5.0), "bias": torch.zeros(2)}, tmp_path / "w.safetensors")
    own = mine("mine_instance", "net = nn.Linear(3, 2).double().train()", weights=str(tmp_path / "w.safetensors"))
    assert float(own.setting(0, {}).model.weight[0, 0]) == 5
    net = sys.modules["mine_instance"].net
    assert net.training
    assert net.weight.requires_grad
    assert net.weight.dtype == torch.float64
    assert not (net.weight == 5).any()


def test_the_numbers_of_files_are_taken_in_the_format_that_is_asked_for(mine, tmp_path) -> None:
    third = torch.full((2, 3), 1 / 3, dtype=torch.float64)
    save_file({"weight": third, "bias": torch.zeros(2).double()}, tmp_path / "w.safetensors")
    x = 1.7e9 + np.arange(12.0).reshape(4, 3)
    np.savez(tmp_path / "times.npz", x=x, reference_x=x)
    made = mine("mine_exact", "def net(): return nn.Linear(3, 2)", weights=str(tmp_path / "w.safetensors"))
    for kind in (np.float32, np.float64):
        own = replace(made, data=str(tmp_path / "times.npz"), dtype=np.dtype(kind).name)
        setting = own.setting(0, {})
        assert np.array_equal(setting.model.weight.numpy(), third.numpy().astype(kind))
        assert np.array_equal(own.sample(range(4), 0).x.numpy(), x.astype(kind))
        assert np.array_equal(setting.reference.x.numpy(), x.astype(kind))


RANDOM = """
class net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2)
        nn.init.eye_(self.layer.weight), nn.init.zeros_(self.layer.bias)
        {}
    def forward(self, x):
        return self.layer(x) * self.drawn
"""


@pytest.mark.parametrize(
    "drawn", ["self.drawn = torch.randn(2)", "self.register_buffer('drawn', torch.randn(2), persistent=False)"]
)
@pytest.mark.parametrize("weights", [False, True])
def test_numbers_that_no_state_dict_holds_must_be_the_same_every_time(mine, tmp_path, drawn, weights) -> None:
    given = {}
    if weights:
        save_file({"layer.weight": torch.eye(2, 3), "layer.bias": torch.zeros(2)}, tmp_path / "w.safetensors")
        given["weights"] = str(tmp_path / "w.safetensors")
    with pytest.raises(SpecError, match="makes another model every time: it draws numbers"):
        mine("mine_random", RANDOM.format(drawn), **given).setting(0, {})
    sys.modules.pop("mine_random")
    seeded = drawn.replace("randn(2)", "randn(2, generator=torch.Generator().manual_seed(0))")
    assert mine("mine_seeded", RANDOM.format(seeded), **given).setting(0, {}).model is not None


def test_one_row_s_answer_is_its_own(mine) -> None:
    with pytest.raises(SpecError, match="mixes the rows"):
        mine("mine_mixed", "def net(): return nn.BatchNorm1d(3, track_running_stats=False)").setting(0, {})


def test_arrays_that_mean_nothing_here_are_not_read(tmp_path) -> None:
    np.savez(tmp_path / "d.npz", x=np.eye(6), names=np.array([None]))
    assert len(Own(data=str(tmp_path / "d.npz")).sample(range(6), 0)) == 6
