"""Files and folders that parameters name: their digests, which stand for their content in keys."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from assay.core.errors import suggest

PATHS = ("File", "Folder", "Data")  # annotations of parameters that are paths
Stamp = tuple[tuple[str, int, int], ...]  # the files in a folder, with their sizes and times of change


class NamedPath(NamedTuple):
    """A path, and whether a file or a folder should be there."""

    path: str
    annotation: str

    @property
    def is_there(self) -> bool:
        is_folder, is_file = Path(self.path).is_dir(), Path(self.path).is_file()
        return {"Folder": is_folder, "File": is_file}.get(self.annotation, is_folder or is_file)

    @property
    def missing(self) -> str:
        """What to say where it is not there."""
        path = Path(self.path)
        kind = {"Folder": "folder", "File": "file"}.get(self.annotation, "file or folder")
        beside = (other.name for other in path.parent.iterdir()) if path.parent.is_dir() else ()
        return f"there is no {kind} '{self.path}'.{suggest(path.name, beside)}"

    @property
    def digest(self) -> str:
        """Of the content: of a file's bytes, or of the paths and bytes of the files in a folder."""
        if not self.path or not self.is_there:
            return f"missing:{self.path}"
        if Path(self.path).is_dir():
            folder = os.path.realpath(self.path)
            return _folder_digest(folder, tuple(sorted(_files_in(folder, (folder,)))))
        status = Path(self.path).stat()
        return _file_digest(Path(self.path).resolve(), status.st_size, status.st_mtime_ns)


def digests(*paths: str) -> tuple[str, ...]:
    """Of what stands under each path, a file or a folder: another one after a change. Whoever reads it says why it
    cannot be read."""

    def digest(path: str) -> str:
        try:
            return NamedPath(path, "Data").digest
        except OSError:
            return f"unreadable:{path}"

    return tuple(map(digest, paths))


@lru_cache(maxsize=256)
def _file_digest(file: Path, _size: int, _time: int) -> str:
    """Read once per size and time of change, because weights can be gigabytes."""
    return _digest_of(file)


@lru_cache(maxsize=8)
def _folder_digest(folder: str, stamp: Stamp) -> str:
    """Read once per sizes and times of change of all its files."""
    whole = hashlib.sha256()
    for name, _, _ in stamp:
        whole.update(os.fsencode(name) + f"\0{_digest_of(Path(folder, name))}\0".encode())
    return f"sha256:{whole.hexdigest()}"


def _digest_of(file: Path) -> str:
    with file.open("rb") as stream:
        return f"sha256:{hashlib.file_digest(stream, 'sha256').hexdigest()}"


def _files_in(folder: str, above: tuple[str, ...]) -> Iterator[tuple[str, int, int]]:
    """Every file below a folder by its path from the outermost one, with / between its parts. Hidden ones, which
    systems write as a folder is looked at, do not count. Links are followed, but not to a folder that they are in."""
    with os.scandir(folder) as entries:
        listed = [entry for entry in entries if not entry.name.startswith(".")]
    for entry in listed:
        if entry.is_dir():
            inside = os.path.realpath(entry.path)
            if inside not in above:
                for name, size, time in _files_in(entry.path, (*above, inside)):
                    yield f"{entry.name}/{name}", size, time
        elif entry.is_file():
            status = entry.stat()
            yield entry.name, status.st_size, status.st_mtime_ns
