"""A user's model and rows as an environment."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from assay.core.errors import SpecError
from assay.core.registry import identity, resolve
from assay.core.spec import Spec
from assay.environments.own import Own, features_of


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
        ({"z": np.eye(2)}, "no rows in an array 'x'"),
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
        features_of(torch.zeros(2, 3, 4))
