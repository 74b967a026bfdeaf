"""Changes of a method's own module."""

from __future__ import annotations

from contracts.mutants.mutant import Mutant


def own(method: str, wrong: str, place: str, old: str, new: str) -> Mutant:
    return Mutant(method, wrong, f"assay.methods.{method}", place, old, new)
