"""CIFAR-10 and CIFAR-100 (Krizhevsky, 2009): colour images of 32 x 32 pixels in 10 and 100 classes.

Two layouts are read, the first one that exists: the public binary files (``cifar-10-batches-bin``,
``cifar-100-binary``: 50,000 training images), and lossless sheets (``cifar10``, ``cifar100``: the same test sets, and
10,000 and 20,000 of the training images, for CIFAR-10 the first 1,000 of each class). Test images are sorted by their
pixels, so that image i is the same in both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import AssayError
from assay.data.batches import ARCHIVES, SIDE, load
from assay.data.folder import find, missing, read
from assay.data.names import NAMES
from assay.data.sheets import arrays, tiles

Split = Literal["train", "test"]
LABELS = "labels.npz"
# File -> sha256, in order.
SHEETS: Mapping[tuple[str, Split], Mapping[str, str]] = {
    ("cifar10", "train"): {
        "train_10000.webp": "065601715fb629322f9999daf9e6075a6d2d047c8f8a87b5885745a82f7c346d",
    },
    ("cifar10", "test"): {
        "test_10000.webp": "e491c59dfeb353ddac67134ad85c79d4eef5760526ff220eeb891182479e9571",
    },
    ("cifar100", "train"): {
        "train_00.webp": "a06d94fc0510a0a6793d98848a9d06a99da642e975d0aa518ed1aa8b191399ec",
        "train_01.webp": "001a59d8a07bc1b907451aff2418d4ddaa34755326f99fb62281fcfd4d7a8851",
    },
    ("cifar100", "test"): {
        "test_00.webp": "9fea188d482923fa3938663983c913d5da7849233fe6d4ec74f88144b7b720a9",
    },
}
LABEL_SHA256: Mapping[str, str] = {
    "cifar10": "7417e9f8afab35d6441e1b5354ec80feffe0488b594ebd1443c66ba8a5421556",
    "cifar100": "548e61748ecf2ff5c07c690679cba18471c685401b5e4903b4a72c9650ac758a",
}


@dataclass(frozen=True, eq=False)
class Images:
    """Pictures of one size."""

    pixels: NDArray[np.uint8]  # (N, height, width, 3)
    label: NDArray[np.int64]  # (N,)
    names: tuple[str, ...]  # of the classes

    def __len__(self) -> int:
        return len(self.label)

    def rows(self, index: NDArray[np.int64]) -> Images:
        return Images(self.pixels[index], self.label[index], self.names)

    def first(self, count: int) -> Images:
        """The first ``count`` images, equally many of each class."""
        each, rest = divmod(count, len(self.names))
        if rest or not each:
            raise AssayError(f"{count} images cannot be equally many of {len(self.names)} classes: take a multiple.")
        fewest = np.bincount(self.label, minlength=len(self.names)).min()
        if each > fewest:
            raise AssayError(
                f"{count} training images were asked for, {fewest * len(self.names)} are here: take fewer."
            )
        indices = [np.flatnonzero(self.label == label)[:each] for label in range(len(self.names))]
        return self.rows(np.sort(np.concatenate(indices)))


def images(dataset: str, split: Split) -> Images:
    """All images of one split, read once per process."""
    return _images(_folder(dataset), dataset, split)


def check(dataset: str) -> None:
    """AssayError if a file is missing or damaged. Nothing is decoded."""
    folder, archive = _folder(dataset), ARCHIVES[dataset]
    sheets = {LABELS: LABEL_SHA256[dataset], **SHEETS[dataset, "train"], **SHEETS[dataset, "test"]}
    for name, sha256 in (archive.members if folder.name == archive.folder else sheets).items():
        read(folder / name, sha256)


def _folder(dataset: str) -> Path:
    names = ARCHIVES[dataset].folder, dataset
    folder = find(*names)
    if folder is None:
        advice = f"Run 'python -m assay.data.fetch {dataset}', or set ASSAY_DATA to a folder that has one of them."
        raise missing(dataset, advice, *names)
    return folder


@lru_cache(maxsize=4)
def _images(folder: Path, dataset: str, split: Split) -> Images:
    archive = ARCHIVES[dataset]
    if folder.name == archive.folder:
        pixels, label = load(archive, folder, archive.train if split == "train" else archive.test)
    else:
        pixels, label = _from_sheets(folder, dataset, split)
    images = Images(pixels, label, NAMES[dataset])
    return images if split == "train" else images.rows(_sorted_indices(images))


def _from_sheets(folder: Path, dataset: str, split: Split) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    labels = arrays(read(folder / LABELS, LABEL_SHA256[dataset]), (split,))[split]
    sheets = [tiles(read(folder / name, sha256), SIDE) for name, sha256 in SHEETS[dataset, split].items()]
    return np.concatenate(sheets), labels.astype(np.int64)


def _sorted_indices(images: Images) -> NDArray[np.int64]:
    """The order by pixels, then by label: it does not depend on the order in the files."""
    keys = [(pixels.tobytes(), int(label)) for pixels, label in zip(images.pixels, images.label, strict=True)]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)
