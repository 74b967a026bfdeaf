"""The generated catalogue file, and how ``methods``, ``metrics`` and ``environments`` offer the classes in it."""

from __future__ import annotations

import importlib
import inspect
import json
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("catalogue.json")
PARAMETERS = "\n\nParameters\n----------\n"


@cache
def described() -> dict[str, list[dict[str, Any]]]:
    """By kind, our components as ``assay.catalogue.generate`` wrote them: cards without a revision."""
    kinds: dict[str, list[dict[str, Any]]] = json.loads(FILE.read_text(encoding="utf-8"))
    return kinds


@cache
def _classes() -> dict[str, dict[str, Any]]:
    """What is described, by where it is imported from: ``assay.methods.Occlusion``."""
    rows = ((card["target"].partition(":")[2], card) for cards in described().values() for card in cards)
    return {f"assay.{card['kind']}.{name}": card for name, card in rows}


def module_of(name: str) -> str:
    """The module that defines what ``assay.methods.Occlusion`` names; any other name as it is."""
    card = _classes().get(name)
    return name if card is None else str(card["target"]).partition(":")[0]


def family(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package whose classes are imported when they are first taken from it."""

    def take(name: str) -> Any:
        card = _classes().get(f"{package}.{name}")
        if card is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        component = getattr(importlib.import_module(module_of(f"{package}.{name}")), name)
        component.__doc__ = inspect.cleandoc(component.__doc__ or "") + _parameters(card["params"])
        setattr(sys.modules[package], name, component)
        return component

    def names() -> list[str]:
        offered = (name.rpartition(".") for name in _classes())
        return sorted({*vars(sys.modules[package]), *(name for owner, _, name in offered if owner == package)})

    return take, names


def _parameters(params: list[dict[str, Any]]) -> str:
    """A docstring's part on parameters, for ``help``."""
    rows = [f"{row['name']} : {row['type']}, default {row['default']!r}\n    {row['note']}".rstrip() for row in params]
    return PARAMETERS + "\n".join(rows) if rows else ""
