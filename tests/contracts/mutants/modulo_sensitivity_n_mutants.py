"""Wrong versions of Sensitivity-N in the modulo setting."""

from __future__ import annotations

from contracts.mutants.mutant import Mutant

RANKS = "assay.kit.feature_orders"
SETS = "assay.metrics._sets"
OWN = "assay.metrics.modulo_sensitivity_n"

MUTANTS = [
    Mutant("modulo_sensitivity_n", "sizes never", OWN, "values.abs() if self.absolute else values", "values"),
    Mutant("modulo_sensitivity_n", "sizes always", OWN, "values.abs() if self.absolute else values", "values.abs()"),
    Mutant(
        "modulo_sensitivity_n",
        "other orders for the truth",
        OWN,
        "nested_sums(true, orders, sizes)",
        "nested_sums(true, orders.roll(1, 0), sizes)",
    ),
    Mutant(
        "modulo_sensitivity_n",
        "false features met",
        OWN,
        "nested_sums(true, orders, sizes)",
        "nested_sums(1 - true, orders, sizes)",
    ),
    Mutant(
        "modulo_sensitivity_n",
        "modulo 5",
        OWN,
        "nested_sums(true, orders, sizes).transpose(1, 2)",
        "nested_sums(true, orders, sizes).transpose(1, 2) % 5",
    ),
    Mutant(
        "modulo_sensitivity_n",
        "undefined counts as 0",
        OWN,
        "curve.sum(dim=1) / count.clamp(min=1)",
        "curve.mean(dim=1)",
    ),
    Mutant("modulo_sensitivity_n", "always defined", OWN, "defined=count > 0", "defined=count >= 0"),
    Mutant("modulo_sensitivity_n", "rounding is a difference", OWN, "ROUNDING = 1e-12", "ROUNDING = 0.0"),
    Mutant(
        "modulo_sensitivity_n",
        "sums of single stretches",
        RANKS,
        "torch.stack(stretches, dim=1).cumsum(dim=1)",
        "torch.stack(stretches, dim=1)",
    ),
    Mutant("modulo_sensitivity_n", "another stream", SETS, 'scene.generator("sets")', 'scene.generator("ties")'),
    Mutant("modulo_sensitivity_n", "all features too", SETS, "log_counts(count - 1,", "log_counts(count,"),
    Mutant(
        "modulo_sensitivity_n",
        "mean curve over all samples",
        SETS,
        "np.maximum(defined.sum(axis=0), 1)",
        "len(evidence)",
    ),
]
