"""The studies that ship with the package, and how a study is found by name or path."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import assay
from assay.core.errors import AssayError, suggest
from assay.study.file import load
from assay.study.study import Study


def shelf() -> dict[str, Path]:
    """Shipped studies by name, such as ``attributionlab/color_count``."""
    root = Path(assay.__path__[0]) / "studies"
    return {path.relative_to(root).with_suffix("").as_posix(): path for path in sorted(root.rglob("*.toml"))}


def find(name: str) -> Study:
    """A study by path, or by the name of a shipped one.

    A shipped study is called what ``assay ls`` calls it: two of them in different folders have one file name. A user's
    is called as its file.
    """
    path, known = Path(name), shelf()
    if path.suffix == ".toml" and path.is_file():
        shipped = {file.resolve(): key for key, file in known.items()}
        return replace(load(path), name=shipped.get(path.resolve(), path.stem))
    key = name.removeprefix("studies/").removesuffix(".toml")
    if key in known:
        return replace(load(known[key]), name=key)
    raise AssayError(
        f"no study '{name}': not a file, and not shipped.{suggest(key, known)} Shipped: {', '.join(known)}."
    )


def title(path: Path) -> str:
    """A shipped study's title, without resolving it."""
    return str(tomllib.loads(path.read_text(encoding="utf-8")).get("title", ""))
