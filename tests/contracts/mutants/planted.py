"""Metrics with a changed source, in place of the real ones for a while."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import assay
from assay.catalogue.registry import card, expand_alias
from assay.core.spec import Spec
from contracts.mutants.mutant import Mutant

SOURCE = Path(assay.__path__[0]).parent


@contextmanager
def planted(mutant: Mutant) -> Iterator[Callable[..., Any]]:
    """What makes the metric, made anew on top of the changed module; what was imported before stays as it was."""
    before = {name: module for name, module in sys.modules.items() if _replaced(name)}
    try:
        for name in before:
            del sys.modules[name]
        _plant(mutant.module, changed(mutant))
        spec = expand_alias("metrics", Spec(mutant.metric))
        module, _, attr = card("metrics", spec.name).target.partition(":")
        made = getattr(importlib.import_module(module), attr)
        yield partial(made, **dict(spec.params)) if spec.params else made
    finally:
        for name in [name for name in sys.modules if _replaced(name)]:
            del sys.modules[name]
        sys.modules.update(before)
        assay.kit, assay.metrics = before["assay.kit"], before["assay.metrics"]


def changed(mutant: Mutant) -> str:
    """The module's source with the change made, which must be possible in exactly one place."""
    text = path_of(mutant.module).read_text(encoding="utf-8")
    assert text.count(mutant.old) == 1, f"{mutant}: {text.count(mutant.old)} places to change in {mutant.module}"
    return text.replace(mutant.old, mutant.new)


def path_of(module: str) -> Path:
    return SOURCE / f"{module.replace('.', '/')}.py"


def _plant(name: str, text: str) -> None:
    importlib.import_module(name.rpartition(".")[0])  # the package
    module = ModuleType(name)
    module.__file__ = str(path_of(name))
    sys.modules[name] = module
    setattr(sys.modules[name.rpartition(".")[0]], name.rpartition(".")[2], module)
    exec(compile(text, f"<changed {name}>", "exec"), vars(module))


def _replaced(name: str) -> bool:
    return name.split(".")[:2] in (["assay", "kit"], ["assay", "metrics"])
