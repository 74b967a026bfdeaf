"""Small files in the layouts that the loaders read, with sums to match."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from assay.data import cifar
from assay.data.batches import ARCHIVES

CLASSES = {"cifar10": 10, "cifar100": 100}


def sum_of(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def picture_set(dataset: str, split: str, each: int) -> tuple[np.ndarray, np.ndarray]:
    """Random pixels (N, 32, 32, 3) and labels, ``each`` of every class."""
    random = np.random.default_rng([CLASSES[dataset], split == "train"])
    label = random.permutation(np.repeat(np.arange(CLASSES[dataset]), each))
    return random.integers(0, 256, (len(label), 32, 32, 3), dtype=np.uint8), label


def records(pixels: np.ndarray, label: np.ndarray, coarse: int) -> bytes:
    """One record after the other, byte by byte as CIFAR's page describes them."""
    planes = pixels.transpose(0, 3, 1, 2).reshape(len(pixels), -1)
    heads = [bytes([7] * coarse + [int(one)]) for one in label]
    return b"".join(head + row.tobytes() for head, row in zip(heads, planes, strict=True))


def archive_files(dataset: str, each: int = 2) -> dict[str, bytes]:
    """The members of a small archive: training images in as many files as the real one has."""
    real = ARCHIVES[dataset]
    found = {}
    for split, names in (("train", list(real.train)), ("test", list(real.test))):
        pixels, label = picture_set(dataset, split, each)
        parts = zip(np.array_split(pixels, len(names)), np.array_split(label, len(names)), strict=True)
        found.update({name: records(*part, real.coarse) for name, part in zip(names, parts, strict=True)})
    return found


def pretend(monkeypatch: pytest.MonkeyPatch, dataset: str, files: Mapping[str, bytes], raw: bytes = b"") -> None:
    """Let the sums be those of these files, and of this archive."""
    real = ARCHIVES[dataset]
    sums = {name: sum_of(data) for name, data in files.items()}
    train = {name: sums[name] for name in real.train}
    test = {name: sums[name] for name in real.test}
    monkeypatch.setitem(ARCHIVES, dataset, replace(real, train=train, test=test, sha256=sum_of(raw)))


def write_batches(monkeypatch: pytest.MonkeyPatch, folder: Path, dataset: str, each: int = 2) -> Path:
    files = archive_files(dataset, each)
    pretend(monkeypatch, dataset, files)
    place = folder / ARCHIVES[dataset].folder
    place.mkdir(parents=True)
    for name, raw in files.items():
        (place / name).write_bytes(raw)
    return place


def sheet(pixels: np.ndarray, columns: int) -> bytes:
    """Pictures side by side, row by row, as lossless WebP."""
    rows = [np.concatenate(list(pixels[start : start + columns]), axis=1) for start in range(0, len(pixels), columns)]
    raw = BytesIO()
    Image.fromarray(np.concatenate(rows)).save(raw, "WEBP", lossless=True)
    return raw.getvalue()


def write_sheets(monkeypatch: pytest.MonkeyPatch, folder: Path, dataset: str, each: int = 2) -> Path:
    place = folder / dataset
    place.mkdir(parents=True)
    labels = {}
    for split in ("train", "test"):
        pixels, labels[split] = picture_set(dataset, split, each)
        if split == "test":  # stored in another order than the batches
            pixels, labels[split] = pixels[::-1], labels[split][::-1]
        names = list(cifar.SHEETS[dataset, split])
        raws = [sheet(part, 5) for part in np.array_split(pixels, len(names))]
        for name, raw in zip(names, raws, strict=True):
            (place / name).write_bytes(raw)
        monkeypatch.setitem(cifar.SHEETS, (dataset, split), dict(zip(names, map(sum_of, raws), strict=True)))
    np.savez(place / cifar.LABELS, **labels)
    monkeypatch.setitem(cifar.LABEL_SHA256, dataset, sum_of((place / cifar.LABELS).read_bytes()))
    return place
