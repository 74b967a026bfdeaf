"""Writes what is generated from our components: ``python -m assay.catalogue.generate``.

``catalogue/catalogue.json`` has their cards, ``methods/__init__.pyi`` and its two siblings list their classes.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import assay
from assay.catalogue.cards import KINDS, Card, snake
from assay.catalogue.describe import describe_class, own_kind
from assay.catalogue.families import FILE, PARAMETERS
from assay.core.errors import AssayError


def cards(kind: str) -> list[Card]:
    """A card for every frozen dataclass of the kind that a file without leading underscore defines, by name."""
    found: dict[str, Card] = {}
    call = "setting" if kind == "environments" else "__call__"
    for path in sorted((Path(assay.__path__[0]) / kind).glob("[!_]*.py")):
        module = importlib.import_module(f"assay.{kind}.{path.stem}")
        for cls in filter(_is_component, vars(module).values()):
            card = describe_class(kind, snake(cls.__name__), f"{cls.__module__}:{cls.__name__}", cls)
            if cls.__module__ != module.__name__ or call not in card.calls:
                continue  # imported from elsewhere, or used by components only
            if card.name in found:
                raise AssayError(f"'{card.name}' of {card.target} is already the name of {found[card.name].target}.")
            found[card.name] = replace(card, doc=card.doc.partition(PARAMETERS)[0])  # which ``families`` adds
    return [found[name] for name in sorted(found)]


def _is_component(value: Any) -> bool:
    settings = getattr(value, "__dataclass_params__", None)
    return isinstance(value, type) and own_kind(value) is not None and settings is not None and settings.frozen


def generated() -> Mapping[Path, str]:
    """The generated files with their text."""
    found = {kind: cards(kind) for kind in KINDS}
    rows = {kind: [card.declared() for card in found[kind]] for kind in KINDS}
    files = {FILE: json.dumps(rows, indent=1, ensure_ascii=False) + "\n"}
    for kind in KINDS:
        targets = sorted(card.target.split(":") for card in found[kind])
        lines = [f"from {module} import {name} as {name}\n" for module, name in targets]
        files[FILE.parents[1] / kind / "__init__.pyi"] = "# Written by assay.catalogue.generate.\n" + "".join(lines)
    return files


if __name__ == "__main__":
    for path, text in generated().items():
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path}")
