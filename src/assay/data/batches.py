"""CIFAR's own binary files: records of one or two label bytes, then the red, the green and the blue plane.

The sha256 sums are those of the files in the two public archives, as published. That of ``test_batch.bin`` was also
computed here, from the same images of another source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import AssayError
from assay.data.folder import read

SIDE = 32


@dataclass(frozen=True)
class Archive:
    """A public archive and its files."""

    url: str
    sha256: str
    folder: str  # in the archive, and where it is unpacked
    train: Mapping[str, str]  # file -> sha256, in the data set's own order
    test: Mapping[str, str]
    coarse: int  # label bytes before the one that counts
    classes: int

    @property
    def members(self) -> Mapping[str, str]:
        return {**self.train, **self.test}


ARCHIVES: Mapping[str, Archive] = {
    "cifar10": Archive(
        "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
        "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
        "cifar-10-batches-bin",
        {
            "data_batch_1.bin": "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
            "data_batch_2.bin": "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
            "data_batch_3.bin": "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
            "data_batch_4.bin": "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
            "data_batch_5.bin": "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
        },
        {"test_batch.bin": "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"},
        coarse=0,
        classes=10,
    ),
    "cifar100": Archive(
        "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
        "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
        "cifar-100-binary",
        {"train.bin": "f31298fc616915fa142368359df1c4ca2ae984d6915ca468b998a5ec6aeebf29"},
        {"test.bin": "d8b1e6b7b3bee4020055f0699b111f60b1af1e262aeb93a0b659061746f8224a"},
        coarse=1,
        classes=100,
    ),
}


def load(archive: Archive, folder: Path, files: Mapping[str, str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Pixels (N, 32, 32, 3) and labels (N,) of ``files`` of the archive, unpacked in ``folder``."""
    parts = [records(read(folder / name, sha256), archive.coarse, archive.classes) for name, sha256 in files.items()]
    pixels, labels = zip(*parts, strict=True)
    return np.concatenate(pixels), np.concatenate(labels)


def records(raw: bytes, coarse: int, classes: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Pixels (N, 32, 32, 3) and labels (N,) of one file's records."""
    length = coarse + 1 + 3 * SIDE * SIDE
    if len(raw) % length:
        raise AssayError(f"{len(raw)} bytes are not a whole number of records of {length} bytes.")
    rows = np.frombuffer(raw, dtype=np.uint8).reshape(-1, length)
    label = rows[:, coarse].astype(np.int64)
    if len(label) and label.max() >= classes:
        raise AssayError(f"a record has label {label.max()}, and there are {classes} classes.")
    return rows[:, coarse + 1 :].reshape(-1, 3, SIDE, SIDE).transpose(0, 2, 3, 1), label
