"""All wrong versions: the lists MUTANTS of the files ``*_mutants.py``, of metrics here, of methods in ``methods``."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from contracts.mutants.mutant import Mutant


def collected(package: str, folder: Path) -> list[Mutant]:
    names = sorted(path.stem for path in folder.glob("*_mutants.py") if not path.stem.startswith("test_"))
    return [mutant for name in names for mutant in import_module(f"{package}.{name}").MUTANTS]


METRIC_MUTANTS = collected("contracts.mutants", Path(__file__).parent)
METHOD_MUTANTS = collected("contracts.mutants.methods", Path(__file__).parent / "methods")
