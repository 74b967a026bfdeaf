"""All wrong versions: the lists MUTANTS of the files ``*_mutants.py`` in this folder."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from contracts.mutants.mutant import Mutant

MODULES = sorted(path.stem for path in Path(__file__).parent.glob("*_mutants.py") if not path.stem.startswith("test_"))

MUTANTS: list[Mutant] = [
    mutant for module in MODULES for mutant in import_module(f"contracts.mutants.{module}").MUTANTS
]
