"""Download a public data set on request: ``python -m assay.data.fetch cifar10``.

It goes into ``data`` of the cache folder, in the layout that the loaders read. A file gets its name only after its
sha256 was checked.
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
from assay.data import adult, credit
from assay.data.batches import ARCHIVES, Archive
from assay.data.folder import fetched, write
from assay.data.table import Tidy


def fetch(name: str) -> Path:
    """Download one data set and return its folder. Existing files are replaced."""
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


def fetch_table(data_id: int, file: str, tidy: Tidy) -> Path:
    """Download from OpenML through scikit-learn, which checks OpenML's checksum."""
    from sklearn.datasets import fetch_openml  # imported here: it takes a second, and loaders do not need it

    try:
        downloaded = fetch_openml(data_id=data_id, as_frame=True, parser="auto", data_home=str(fetched() / "openml"))
    except (OSError, ValueError) as error:
        raise AssayError(f"OpenML's data set {data_id} could not be fetched: {error}") from error
    raw = BytesIO()
    tidy(downloaded.frame).to_parquet(raw)
    path = fetched() / file
    # The checksum first: a file without one beside it must have the sha256 of the original, which this one has not.
    write(path.with_suffix(".sha256"), hashlib.sha256(raw.getvalue()).hexdigest().encode())
    write(path, raw.getvalue())
    return path.parent


SETS: Mapping[str, Callable[[], Path]] = {
    "adult": lambda: fetch_table(adult.OPENML, adult.FILE, adult.tidy),
    "cifar10": lambda: fetch_cifar("cifar10"),
    "cifar100": lambda: fetch_cifar("cifar100"),
    "credit": lambda: fetch_table(credit.OPENML, credit.FILE, credit.tidy),
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
    actual = hashlib.sha256(raw).hexdigest()
    if actual != sha256:
        raise AssayError(f"{what} has sha256 {actual}, not {sha256}: the download is damaged or another version.")


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
