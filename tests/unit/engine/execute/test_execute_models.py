"""Trained models are shared across stores through a folder that can be deleted at any time."""

from pathlib import Path

import numpy as np
import pytest
import torch

from assay.catalogue.registry import card
from assay.engine.artifacts.cache import cache_folder, fetch
from assay.foreign.imports import load
from assay.train.checkpoints import Throttle

KEY = "ab" * 32


def train(counted, arrays):
    def work():
        counted.append(1)
        return arrays

    return work


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache" / "models"


def test_a_model_is_trained_once(folder):
    counted = []
    weights = {"a": np.arange(6.0).reshape(2, 3), "b": np.array([1, 2], dtype=np.int64)}
    for _ in range(3):
        found = fetch(KEY, train(counted, weights))
        assert {name: array.tolist() for name, array in found.items()} == {"a": [[0, 1, 2], [3, 4, 5]], "b": [1, 2]}
        assert found["b"].dtype == np.int64
    assert counted == [1]
    assert {path.name for path in folder.iterdir()} == {f"{KEY}.safetensors", f"{KEY}.sha256"}


def test_another_key_is_another_model():
    counted = []
    fetch(KEY, train(counted, {"a": np.ones(1)}))
    fetch("cd" * 32, train(counted, {"a": np.ones(1)}))
    assert counted == [1, 1]


def test_a_folder_that_was_deleted_is_filled_again(folder):
    import shutil

    counted = []
    fetch(KEY, train(counted, {"a": np.ones(1)}))
    shutil.rmtree(folder.parent)
    fetch(KEY, train(counted, {"a": np.ones(1)}))
    assert counted == [1, 1]


@pytest.mark.parametrize(
    "damage", [lambda raw: b"", lambda raw: raw[:5], lambda raw: raw[:-3], lambda raw: b"\xff" * 99]
)
def test_a_damaged_file_is_trained_again_and_replaced(folder, damage):
    counted = []
    weights = {"a": np.arange(4.0)}
    fetch(KEY, train(counted, weights))
    path = folder / f"{KEY}.safetensors"
    path.write_bytes(damage(path.read_bytes()))
    assert fetch(KEY, train(counted, weights))["a"].tolist() == [0, 1, 2, 3]
    assert fetch(KEY, train(counted, weights))["a"].tolist() == [0, 1, 2, 3]
    assert counted == [1, 1]


def test_a_training_that_fails_leaves_nothing(folder):
    def work():
        raise RuntimeError("diverged")

    with pytest.raises(RuntimeError, match="diverged"):
        fetch(KEY, work)
    assert not folder.exists() or not list(folder.iterdir())
    assert fetch(KEY, train([], {"a": np.ones(1)}))["a"].tolist() == [1]


def test_the_folder_is_where_the_environment_says(monkeypatch, tmp_path):
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("ASSAY_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert cache_folder() == Path("/x/assay")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "assay"


def test_weights_that_do_not_lie_in_order_come_back_as_they_were():
    weights = np.arange(6.0).reshape(2, 3).T
    first = fetch(KEY, train([], {"a": weights}))["a"]
    again = fetch(KEY, train([], {"a": weights}))["a"]
    assert first.tolist() == weights.tolist()
    assert again.tolist() == weights.tolist()


def test_a_flipped_bit_is_damage_too(folder):
    fetch(KEY, train([], {"a": np.arange(4.0)}))
    path = folder / f"{KEY}.safetensors"
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 0x40
    path.write_bytes(raw)
    assert fetch(KEY, train([], {"a": np.arange(4.0)}))["a"].tolist() == [0, 1, 2, 3]


def test_a_cache_that_cannot_be_written_loses_no_model(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "file"))
    assert fetch(KEY, train([], {"a": np.ones(1)}))["a"].tolist() == [1]


class Stopped(Exception):
    pass


@pytest.mark.parametrize("name", ["cifar", "in_domain", "beside", "tabular_rule"])
def test_a_training_that_was_stopped_gives_the_model_of_one_that_was_not(folder, monkeypatch, name):
    environment = load(card("environments", name).target).tiny()
    steps = []
    for kind in (torch.optim.Adam, torch.optim.SGD):
        step = kind.step
        monkeypatch.setattr(kind, "step", lambda self, step=step: steps.append(1) or step(self))

    def trained():
        return {part: tensor.numpy() for part, tensor in environment.train(3).items()}

    whole = trained()
    needed = len(steps)
    steps.clear()

    def clock():
        if len(steps) > needed // 2:  # before the checkpoint of that epoch is written
            raise Stopped
        return 0.0

    with pytest.raises(Stopped):
        fetch(KEY, trained, Throttle(0, clock=clock))
    assert [path.name for path in (folder.parent / "trainings").iterdir()] == [KEY]
    begun = len(steps)
    steps.clear()
    found = fetch(KEY, trained, Throttle(0))
    assert needed - begun < len(steps) < needed
    assert {part: array.tobytes() for part, array in found.items()} == {
        part: array.tobytes() for part, array in whole.items()
    }
    assert list((folder.parent / "trainings").iterdir()) == []


@pytest.mark.parametrize("damage", [b"", b"0" * 64, b"\xff\xfe"])
def test_a_damaged_checksum_only_costs_time(folder, damage):
    counted = []
    fetch(KEY, train(counted, {"a": np.arange(3.0)}))
    (folder / f"{KEY}.sha256").write_bytes(damage)
    assert fetch(KEY, train(counted, {"a": np.arange(3.0)}))["a"].tolist() == [0, 1, 2]
    assert counted == [1, 1]
