from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assay.core.errors import AssayError
from assay.data.batches import records as read_records
from assay.data.cifar import Images, images
from assay.data.names import NAMES
from assay.data.sheets import tiles
from unit.data.fakes import picture_set, records, sheet, write_batches, write_sheets

both_sets = pytest.mark.parametrize("dataset", ["cifar10", "cifar100"])


def pairs(found: Images) -> list[tuple[bytes, int]]:
    return [(pixels.tobytes(), int(label)) for pixels, label in zip(found.pixels, found.label, strict=True)]


@both_sets
def test_the_public_files_are_read(dataset: str, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_batches(monkeypatch, data, dataset)
    found = images(dataset, "train")
    pixels, label = picture_set(dataset, "train", 2)
    assert np.array_equal(found.pixels, pixels)
    assert np.array_equal(found.label, label)
    assert found.names == NAMES[dataset]
    assert len(found.names) == len(set(found.names)) == label.max() + 1


@both_sets
def test_sheets_hold_the_same_images_and_test_images_come_in_the_same_order(
    dataset: str, tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_batches(monkeypatch, data, dataset)
    public = {split: images(dataset, split) for split in ("train", "test")}
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path / "other"))
    write_sheets(monkeypatch, tmp_path / "other", dataset)
    for split, expected in public.items():
        assert pairs(images(dataset, split)) == pairs(expected)
    assert sorted(pairs(public["test"])) == pairs(public["test"])
    stored = picture_set(dataset, "test", 2)
    assert sorted(zip(map(np.ndarray.tobytes, stored[0]), stored[1], strict=True)) == pairs(public["test"])


def test_one_damaged_file_is_named(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = write_batches(monkeypatch, data, "cifar10")
    raw = bytearray((place / "data_batch_3.bin").read_bytes())
    raw[100] ^= 1
    (place / "data_batch_3.bin").write_bytes(raw)
    with pytest.raises(AssayError, match=r"data_batch_3\.bin has sha256"):
        images("cifar10", "train")
    assert len(images("cifar10", "test")) == 20


def test_a_damaged_sheet_or_label_file_is_named(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = write_sheets(monkeypatch, data, "cifar100")
    (place / "train_01.webp").write_bytes(b"something else")
    with pytest.raises(AssayError, match=r"train_01\.webp has sha256"):
        images("cifar100", "train")
    (place / "labels.npz").unlink()
    with pytest.raises(AssayError, match=r"labels\.npz cannot be read"):
        images("cifar100", "test")


def test_where_nothing_is_found_the_message_says_what_to_do(data: Path) -> None:
    with pytest.raises(AssayError) as error:
        images("cifar10", "test")
    for part in ("cifar-10-batches-bin", str(data), "python -m assay.data.fetch cifar10", "ASSAY_DATA"):
        assert part in str(error.value)


def test_records_that_are_cut_off_or_of_another_set_are_refused() -> None:
    pixels, label = picture_set("cifar10", "test", 1)
    raw = records(pixels, label, 0)
    with pytest.raises(AssayError, match="not a whole number of records"):
        read_records(raw[:-1], 0, 10)
    with pytest.raises(AssayError, match="label 9, and there are 9 classes"):
        read_records(raw, 0, 9)


def test_tiles_are_counted_row_by_row_and_odd_sheets_refused() -> None:
    pixels, _ = picture_set("cifar10", "train", 1)
    assert np.array_equal(tiles(sheet(pixels, 5), 32), pixels)
    with pytest.raises(AssayError, match="no whole 30 x 30 tiles"):
        tiles(sheet(pixels, 5), 30)


def test_the_first_images_are_the_first_of_every_class_in_the_sets_order() -> None:
    label = np.array([1, 1, 0, 1, 0, 0, 1])
    pixels = np.arange(7, dtype=np.uint8).reshape(7, 1, 1, 1)
    first = Images(pixels, label, ("a", "b")).first(4)
    assert first.pixels.flatten().tolist() == [0, 1, 2, 4]
    assert first.label.tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize(("count", "message"), [(3, "equally many of 2"), (0, "equally many"), (8, "6 are here")])
def test_images_that_cannot_be_had_are_refused(count: int, message: str) -> None:
    found = Images(np.zeros((7, 1, 1, 3), dtype=np.uint8), np.array([1, 1, 0, 1, 0, 0, 1]), ("a", "b"))
    with pytest.raises(AssayError, match=message):
        found.first(count)
