"""The studies that ship with the package, and finding a study by name or path."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import assay
from assay.core.errors import AssayError, suggest
from assay.core.records import printable
from assay.studies.study import Study


def shipped_studies() -> dict[str, Path]:
    """Shipped studies by name, such as ``attributionlab/color_count``."""
    root = Path(assay.__path__[0]) / "studies"
    return {path.relative_to(root).with_suffix("").as_posix(): path for path in sorted(root.rglob("*.toml"))}


def find(name: str) -> Study:
    """A study by path, or by the name of a shipped one.

    A shipped study has the name that ``assay ls`` shows, with its folder, because file names are not unique. A user's
    study has the name of its file.
    """
    from assay.studies.file import load  # here: ``assay ls`` needs no models of files

    path, paths = Path(name), shipped_studies()
    if path.suffix == ".toml" and path.is_file():
        names = {file.resolve(): key for key, file in paths.items()}
        own_name = printable(path.stem, 200).lstrip(".") or "study"  # it becomes the name of a folder
        return replace(load(path), name=names.get(path.resolve(), own_name))
    key = name.removeprefix("studies/").removesuffix(".toml")
    if key in paths:
        return replace(load(paths[key]), name=key)
    raise AssayError(
        f"no study '{name}': not a file, and not shipped.{suggest(key, paths)} Shipped: {', '.join(paths)}."
    )


def title(path: Path) -> str:
    """The title of a study file, without resolving its specs."""
    return str(tomllib.loads(path.read_text(encoding="utf-8")).get("title", ""))
