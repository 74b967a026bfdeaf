from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assay.core.errors import AssayError
from assay.data import models
from assay.data.models import content, pretrained

ARRAYS = {"conv1.weight": np.arange(6, dtype=np.float32).reshape(2, 3), "linear.bias": np.ones(2, dtype=np.float32)}


def store(data: Path, monkeypatch: pytest.MonkeyPatch, **arrays: np.ndarray) -> Path:
    path = data / "cifar_models" / "mine.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **arrays)
    monkeypatch.setitem(models.SUMS, "mine", content(ARRAYS))
    return path


def test_published_arrays_are_read_however_they_were_packed(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store(data, monkeypatch, **ARRAYS)
    found = pretrained("mine")
    assert found.keys() == ARRAYS.keys()
    assert all(np.array_equal(found[name], ARRAYS[name]) for name in found)


@pytest.mark.parametrize(
    "changes",
    [
        {"linear.bias": np.array([1, 1.0000001], dtype=np.float32)},
        {"linear.bias": np.ones(2)},
        {"conv1.weight": ARRAYS["conv1.weight"].reshape(3, 2)},
        {"extra": np.zeros(0, dtype=np.float32)},
    ],
    ids=["number", "format", "shape", "name"],
)
def test_other_arrays_are_refused(data: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, np.ndarray]) -> None:
    store(data, monkeypatch, **{**ARRAYS, **changes})
    with pytest.raises(AssayError, match="other numbers than the published network"):
        pretrained("mine")


def test_objects_are_never_unpickled(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store(data, monkeypatch, **ARRAYS, trap=np.array([print], dtype=object))
    with pytest.raises(AssayError, match="not an npz file of arrays"):
        pretrained("mine")


def test_a_file_that_is_missing_or_no_archive_is_told(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(models.SUMS, "mine", "")
    with pytest.raises(AssayError, match=r"cifar_models/mine\.npz in .*ASSAY_DATA"):
        pretrained("mine")
    store(data, monkeypatch, **ARRAYS).write_bytes(b"PK\x03\x04 not really")
    with pytest.raises(AssayError, match="not an npz file of arrays"):
        pretrained("mine")


def test_a_name_that_nobody_published_is_told() -> None:
    with pytest.raises(AssayError, match="no published weights are known for resnet7"):
        pretrained("resnet7")
