"""Checkpoints as they are published."""

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from assay.core.errors import SpecError
from assay.users.weights import load_weights
from streams import seeded


@seeded()
def net(outputs=2):
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, outputs))


STATE = {name: torch.full_like(tensor, 7) for name, tensor in net().state_dict().items()}


def named(prefix, state=None):
    return {f"{prefix}{name}": tensor for name, tensor in (state or STATE).items()}


@pytest.mark.parametrize(
    "saved, notes",
    [
        (STATE, []),
        ({"state_dict": STATE, "epoch": 3, "best": torch.tensor(0.9)}, ["are 'state_dict' of"]),
        ({"model": STATE, "optimizer": {"state": {}}}, ["are 'model' of"]),
        (named("module."), ["begin with 'module.', which the model's do not."]),
        ({"state_dict": named("model.")}, ["are 'state_dict'", "begin with 'model.'"]),
        (named("module.model."), ["begin with 'module.model.'"]),
        (
            {**named("net."), "loss.weight": torch.ones(2)},
            ["begin with 'net.', which the model's do not, and 1 others"],
        ),
        ({name: part for name, part in STATE.items() if "tracked" not in name}, []),
    ],
    ids=["plain", "state_dict", "model", "module.", "lightning", "two prefixes", "others", "untracked"],
)
def test_weights_are_found_in_containers_and_behind_prefixes(saved, notes, tmp_path):
    path = str(tmp_path / "weights.pt")
    torch.save(saved, path)
    model = net()
    told = load_weights(model, path)
    assert all(bool((tensor == 7).all()) for name, tensor in model.state_dict().items() if "tracked" not in name)
    assert len(told) == len(notes)
    assert all(words in sentence for words, sentence in zip(notes, told, strict=True))


@pytest.mark.parametrize("suffix", ["npz", "safetensors"])
def test_weights_are_read_from_files_of_arrays(suffix, tmp_path):
    path = str(tmp_path / f"weights.{suffix}")
    if suffix == "npz":
        np.savez(path, **{name: tensor.numpy() for name, tensor in STATE.items()})
    else:
        save_file(STATE, path)
    model = net()
    assert load_weights(model, path) == ()
    assert bool((model[2].weight == 7).all())


def test_weights_that_do_not_fit_are_told_by_their_first_names(tmp_path):
    path = str(tmp_path / "weights.pt")
    torch.save({f"layer{index}.weight": torch.ones(2) for index in range(300)}, path)
    with pytest.raises(SpecError) as refusal:
        load_weights(net(), path)
    text = str(refusal.value)
    assert "it lacks 0.weight, 0.bias, 1.weight and 5 more" in text
    assert "it has besides layer0.weight, layer1.weight, layer2.weight and 297 more" in text
    assert len(text) < 400


def test_weights_of_another_shape_are_told_with_both_shapes(tmp_path):
    path = str(tmp_path / "weights.pt")
    torch.save(named("module.", net(10).state_dict()), path)
    model = net()
    with pytest.raises(SpecError, match=r"of another shape: 2.weight \(\(10, 4\) in the file, \(2, 4\) in the model\)"):
        load_weights(model, path)
    assert torch.equal(model[0].weight, net()[0].weight)  # nothing was loaded


@pytest.mark.parametrize(
    "save, words",
    [
        (lambda path: torch.save(net(), path), "of a model that was saved whole, save model.state_dict()"),
        (lambda path: torch.save([1, 2], path), "it holds list"),
        (lambda path: torch.save({"epoch": 3}, path), "it has epoch, and none of state_dict"),
        (lambda path: torch.save({"model": {"w": torch.ones(2, dtype=torch.complex64)}}, path), "complex numbers"),
        (lambda path: path.write_text("no weights"), "does not hold the weights"),
        (lambda path: None, "there is no file"),
    ],
)
def test_what_holds_no_weights_is_refused(save, words, tmp_path):
    save(tmp_path / "weights.pt")
    with pytest.raises(SpecError, match=words):
        load_weights(net(), str(tmp_path / "weights.pt"))


def test_a_damaged_npz_is_refused(tmp_path):
    (tmp_path / "weights.npz").write_bytes(b"PK")
    with pytest.raises(SpecError, match="cannot read"):
        load_weights(net(), str(tmp_path / "weights.npz"))
