"""Where data sets are looked for, and files that are what they should be.

Nothing is downloaded unless somebody asks for it (``python -m assay.data.fetch``). A data set is looked for in the
folder ``$ASSAY_DATA`` first, then in ``data`` of the cache folder: ``$ASSAY_CACHE``, or ``assay`` in the user's cache
folder.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from assay.core.errors import AssayError


def cache_folder() -> Path:
    given = os.environ.get("ASSAY_CACHE")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "assay"


def fetched() -> Path:
    """Where fetched data sets are kept."""
    return cache_folder() / "data"


def folders() -> tuple[Path, ...]:
    """Where data sets are looked for, in this order."""
    given = os.environ.get("ASSAY_DATA")
    return (Path(given), fetched()) if given else (fetched(),)


def find(*names: str) -> Path | None:
    """The first of these files or folders, written with ``/``, that is in one of the folders."""
    return next((path for folder in folders() for name in names if (path := folder / name).exists()), None)


def missing(what: str, advice: str, *names: str) -> AssayError:
    """The error for data that is nowhere: what was looked for, where, and what to do."""
    looked = " or ".join(names)
    places = ", ".join(map(str, folders()))
    return AssayError(f"{what} is not here: looked for {looked} in {places}. {advice}")


def read(path: Path, *sha256: str) -> bytes:
    """A file's bytes, which have one of these sums."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise AssayError(f"{path} cannot be read: {error}. Remove it, and fetch or copy it again.") from error
    found = hashlib.sha256(raw).hexdigest()
    if found not in sha256:
        raise AssayError(
            f"{path} has sha256 {found}, not {' or '.join(sha256)}: it is damaged or another version. "
            "Remove it, and fetch or copy it again."
        )
    return raw


def write(path: Path, raw: bytes) -> None:
    """The whole file or none: bytes go to a temporary file, which then takes the file's name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(raw)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
