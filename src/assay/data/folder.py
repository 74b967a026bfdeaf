"""Folders of data sets, and files with checked content.

Nothing is downloaded except by ``python -m assay.data.fetch``. A data set is looked for in the folder ``$ASSAY_DATA``
first, then in ``data`` of the cache folder: ``$ASSAY_CACHE``, or ``assay`` in the user's cache folder.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from assay.core.errors import AssayError


def cache_folder() -> Path:
    folder = os.environ.get("ASSAY_CACHE")
    if folder:
        return Path(folder)
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "assay"


def fetched() -> Path:
    """The folder of fetched data sets."""
    return cache_folder() / "data"


def folders() -> tuple[Path, ...]:
    """Folders in which data sets are looked for, in this order."""
    folder = os.environ.get("ASSAY_DATA")
    return (Path(folder), fetched()) if folder else (fetched(),)


def find(*names: str) -> Path | None:
    """The first of these files or folders, written with ``/``, that exists in one of ``folders()``."""
    return next((path for folder in folders() for name in names if (path := folder / name).exists()), None)


def missing(what: str, advice: str, *names: str) -> AssayError:
    """The error for missing data: what was looked for, where, and what to do."""
    wanted = " or ".join(names)
    searched = ", ".join(map(str, folders()))
    return AssayError(f"{what} is missing: looked for {wanted} in {searched}. {advice}")


def read(path: Path, *sha256: str) -> bytes:
    """A file's bytes; AssayError unless they have one of these sums, if any are given."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise AssayError(f"{path} cannot be read: {error}. Remove it, and fetch or copy it again.") from error
    actual = hashlib.sha256(raw).hexdigest()
    if sha256 and actual not in sha256:
        raise AssayError(
            f"{path} has sha256 {actual}, not {' or '.join(sha256)}: it is damaged or another version. "
            "Remove it, and fetch or copy it again."
        )
    return raw


def write(path: Path, raw: bytes) -> None:
    """Write the whole file or none: to a temporary file, which is then renamed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(raw)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
