"""Changes of a method's own module."""

from __future__ import annotations

from assay.catalogue.registry import card
from contracts.mutants.mutant import Mutant


def own(method: str, wrong: str, place: str, old: str, new: str) -> Mutant:
    return Mutant(method, wrong, card("methods", method).target.partition(":")[0], place, old, new)
