"""Download a public data set, because somebody asked for it: ``python -m assay.data.fetch cifar10``.

It goes into ``data`` of the cache folder, in the layout that the loaders read. No file gets its name before its sum is
known to be right.
"""

from __future__ import annotations

import hashlib
import sys
import tarfile
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from typing import IO
from urllib.error import URLError
from urllib.request import urlopen

from assay.core.errors import AssayError, suggest
from assay.data import adult
from assay.data.batches import ARCHIVES, Archive
from assay.data.folder import fetched, write


def fetch(name: str) -> Path:
    """Download one data set; its folder. What is there already is replaced."""
    if name not in SETS:
        raise AssayError(f"no data set '{name}' can be fetched.{suggest(name, SETS)} Known: {', '.join(SETS)}.")
    return SETS[name]()


def fetch_cifar(name: str) -> Path:
    archive = ARCHIVES[name]
    raw = _download(archive.url)
    _check(raw, archive.sha256, archive.url)
    folder = fetched() / archive.folder
    with tarfile.open(fileobj=BytesIO(raw), mode="r:gz") as packed:
        for member, sha256 in archive.members.items():
            write(folder / member, _member(packed, archive, member, sha256))
    return folder


def fetch_adult() -> Path:
    """Through scikit-learn, which checks the sum that OpenML states."""
    from sklearn.datasets import fetch_openml  # imported here: it takes a second, which loaders should not pay

    try:
        found = fetch_openml(data_id=adult.OPENML, as_frame=True, parser="auto", data_home=str(fetched() / "openml"))
    except (OSError, ValueError) as error:
        raise AssayError(f"OpenML's data set {adult.OPENML} could not be fetched: {error}") from error
    raw = BytesIO()
    adult.tidy(found.frame).to_parquet(raw)
    path = fetched() / adult.FILE
    # The sum first: a file without its sum is asked for another one.
    write(path.with_suffix(".sha256"), hashlib.sha256(raw.getvalue()).hexdigest().encode())
    write(path, raw.getvalue())
    return path.parent


SETS: Mapping[str, Callable[[], Path]] = {
    "adult": fetch_adult,
    "cifar10": lambda: fetch_cifar("cifar10"),
    "cifar100": lambda: fetch_cifar("cifar100"),
}


def _download(url: str) -> bytes:
    try:
        with urlopen(url, timeout=60) as answer:
            raw: bytes = answer.read()
    except (URLError, OSError) as error:
        raise AssayError(f"{url} could not be fetched: {error}") from error
    return raw


def _member(packed: tarfile.TarFile, archive: Archive, name: str, sha256: str) -> bytes:
    try:
        opened: IO[bytes] | None = packed.extractfile(f"{archive.folder}/{name}")
    except KeyError:
        opened = None
    if opened is None:
        raise AssayError(f"{archive.url} has no file {archive.folder}/{name}.")
    raw = opened.read()
    _check(raw, sha256, f"{name} in {archive.url}")
    return raw


def _check(raw: bytes, sha256: str, what: str) -> None:
    found = hashlib.sha256(raw).hexdigest()
    if found != sha256:
        raise AssayError(f"{what} has sha256 {found}, not {sha256}: the download is damaged or another version.")


def main(names: list[str]) -> int:
    if not names:
        print(f"usage: python -m assay.data.fetch {{{','.join(SETS)}}} ...", file=sys.stderr)
        return 2
    try:
        for name in names:
            print(f"{name}: {fetch(name)}")
    except AssayError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
