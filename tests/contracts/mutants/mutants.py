"""All wrong versions."""

from __future__ import annotations

from contracts.mutants import (
    completeness_mutants,
    exchange_mutants,
    modulo_mutants,
    sensitivity_n_mutants,
    soft_mutants,
)

MUTANTS = [
    *soft_mutants.MUTANTS,
    *exchange_mutants.MUTANTS,
    *modulo_mutants.MUTANTS,
    *sensitivity_n_mutants.MUTANTS,
    *completeness_mutants.MUTANTS,
]
