"""Images in a folder, or in a sub-folder for each class: what is there, and what is no image."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

from PIL import Image, UnidentifiedImageError

from assay.core.errors import SpecError

FORMATS = ("PNG", "JPEG", "WEBP")
NAMES = "classes.txt"  # lists the classes, in the order of the network's outputs
ONE_EACH = "a sub-folder of images for each class is needed"


class Images(Protocol):
    """Images by their names, class by class."""

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the network's outputs, in their order."""

    @property
    def by_class(self) -> Mapping[int, Sequence[str]]:
        """The names of the images of every class that has a sub-folder."""

    def read(self, name: str) -> Image.Image:
        """An image in RGB."""


@dataclass(frozen=True)
class ImageFiles:
    """Images in files."""

    folder: str
    prefix: str = ""  # of messages

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The lines of the list, else the sorted names of sub-folders."""
        listed, found = Path(self.folder, NAMES), self._folders
        if not listed.is_file():
            if all(name.isdecimal() for name in found) and sorted(found, key=int) != list(found):
                raise SpecError(
                    f"{self.prefix}the sub-folders of '{self.folder}' are numbers, and sorted as text "
                    f"({', '.join(found[:3])}, ...) they are in another order than as numbers. Write the network's "
                    f"classes into {self.folder}/{NAMES}, one name a line, in the order of its outputs."
                )
            return found
        names = tuple(line.strip() for line in listed.read_text("utf-8-sig", "replace").splitlines() if line.strip())
        if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
            raise SpecError(f"{self.prefix}{listed} lists '{twice[0]}' twice: every class once is needed.")
        if unknown := [name for name in found if name not in names]:
            raise SpecError(
                f"{self.prefix}'{unknown[0]}' in '{self.folder}' is no class that {NAMES} lists: add it there, at the "
                "place of its output, or move the sub-folder away."
            )
        return names

    @cached_property
    def by_class(self) -> Mapping[int, Sequence[str]]:
        index = {name: place for place, name in enumerate(self.classes)}
        return {index[name]: [f"{name}/{file}" for file in self._files(name)] for name in self._folders}

    @property
    def without_class(self) -> list[str]:
        """The names of the images of a folder without sub-folders; empty, where it has some."""
        folders, files = _shown(self.folder)
        return [] if folders else files

    def header(self, name: str) -> tuple[tuple[int, int], str]:
        """Width and height, and the mode as Pillow calls it; only the beginning of the file is read."""
        with self._opened(name) as image:
            return image.size, image.mode

    def check(self) -> None:
        """Raises SpecError for the first file that is no image; only the beginning of each is read."""
        for names in self.by_class.values():
            for name in names:
                self._opened(name).close()

    def read(self, name: str) -> Image.Image:
        try:
            with self._opened(name) as image:
                return image.convert("RGB")
        except (OSError, SyntaxError, ValueError) as error:
            raise SpecError(f"{self.prefix}{self._path(name)} is a damaged image: {error}.") from error

    def _opened(self, name: str) -> Image.Image:
        try:
            return Image.open(self._path(name), formats=FORMATS)
        except UnidentifiedImageError:
            kinds = f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}"
            raise SpecError(f"{self.prefix}{self._path(name)} is no {kinds} image: move it away.") from None
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
            raise SpecError(f"{self.prefix}{self._path(name)} cannot be opened as an image: {error}.") from error

    def _path(self, name: str) -> Path:
        return Path(self.folder, name)

    @cached_property
    def _folders(self) -> tuple[str, ...]:
        if not Path(self.folder).is_dir():
            raise SpecError(f"{self.prefix}there is no folder '{self.folder}': {ONE_EACH}.")
        folders, files = _shown(self.folder)
        if not folders:
            instead = f"has no sub-folders, only files such as '{files[0]}'" if files else "is empty"
            raise SpecError(f"{self.prefix}the folder '{self.folder}' {instead}: {ONE_EACH}.")
        return tuple(folders)

    def _files(self, name: str) -> list[str]:
        folders, files = _shown(self._path(name))
        if folders:
            raise SpecError(
                f"{self.prefix}'{self.folder}/{name}' has a folder '{folders[0]}': images stand directly in the "
                "sub-folder of their class. Is the folder one level too high?"
            )
        return files


def _shown(folder: str | Path) -> tuple[list[str], list[str]]:
    """The names of folders and of files in a folder, sorted; hidden ones, which systems write by themselves, do not
    count."""
    with os.scandir(folder) as entries:
        shown = sorted((entry.name, entry.is_dir()) for entry in entries if not entry.name.startswith("."))
    return [name for name, is_folder in shown if is_folder], [name for name, is_folder in shown if not is_folder]
