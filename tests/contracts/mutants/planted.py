"""A changed module in place of the real one for a while, and what rests on it imported anew."""

from __future__ import annotations

import importlib
import sys
from ast import Module
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import ModuleType
from typing import Any

import assay.kit
import assay.methods
import assay.metrics
from assay.catalogue.registry import card, expand_alias
from assay.core.spec import Spec
from contracts.mutants.mutant import Mutant, changed, path_of

REPLACED = ("assay.kit", "assay.methods", "assay.metrics")


@contextmanager
def planted(mutant: Mutant, *more: str) -> Iterator[None]:
    """Within the scope imports find the changed module; ``more`` packages are imported anew, too. What was imported
    before stays as it was, and comes back."""
    packages = (*REPLACED, *more)
    before = {name: module for name, module in sys.modules.items() if _within(name, packages)}
    try:
        _remove(before)
        _plant(mutant.module, changed(mutant))
        yield
    finally:
        _remove([name for name in sys.modules if _within(name, packages)])
        sys.modules.update(before)
        for name in REPLACED:
            setattr(assay, name.rpartition(".")[2], before[name])


@contextmanager
def planted_metric(mutant: Mutant) -> Iterator[Callable[..., Any]]:
    """What makes the metric, made anew on top of the changed module."""
    with planted(mutant):
        spec = expand_alias("metrics", Spec(mutant.component))
        module, _, attr = card("metrics", spec.name).target.partition(":")
        made = getattr(importlib.import_module(module), attr)
        yield partial(made, **dict(spec.params)) if spec.params else made


def _plant(name: str, tree: Module) -> None:
    package, _, last = name.rpartition(".")
    module = ModuleType(name)
    module.__file__ = str(path_of(name))
    setattr(importlib.import_module(package), last, module)
    sys.modules[name] = module
    exec(compile(tree, f"<changed {name}>", "exec"), vars(module))


def _within(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def _remove(names: list[str] | dict[str, ModuleType]) -> None:
    for name in names:
        del sys.modules[name]
