"""Wrong versions of Sensitivity-N in the modulo setting."""

from __future__ import annotations

from contracts.mutants.mutant import Mutant

RANKS = "assay.kit.feature_orders"
SETS = "assay.metrics._sets"
OWN = "assay.metrics.modulo"

MUTANTS = [
    Mutant(
        "modulo_sensitivity_n",
        "sizes never",
        OWN,
        "ModuloSensitivityN.__call__",
        "values.abs() if self.absolute else values",
        "values",
    ),
    Mutant(
        "modulo_sensitivity_n",
        "sizes always",
        OWN,
        "ModuloSensitivityN.__call__",
        "values.abs() if self.absolute else values",
        "values.abs()",
    ),
    Mutant(
        "modulo_sensitivity_n",
        "other orders for the truth",
        OWN,
        "ModuloSensitivityN.__call__",
        "nested_sums(true, orders, sizes)",
        "nested_sums(true, orders.roll(1, 0), sizes)",
    ),
    Mutant(
        "modulo_sensitivity_n",
        "false features met",
        OWN,
        "ModuloSensitivityN.__call__",
        "nested_sums(true, orders, sizes)",
        "nested_sums(1 - true, orders, sizes)",
    ),
    Mutant(
        "modulo_sensitivity_n",
        "modulo 5",
        OWN,
        "ModuloSensitivityN.__call__",
        "nested_sums(true, orders, sizes).transpose(1, 2)",
        "nested_sums(true, orders, sizes).transpose(1, 2) % 5",
    ),
    Mutant(
        "modulo_sensitivity_n",
        "undefined counts as 0",
        OWN,
        "ModuloSensitivityN.__call__",
        "curve.sum(dim=1) / count.clamp(min=1)",
        "curve.mean(dim=1)",
    ),
    Mutant("modulo_sensitivity_n", "always defined", OWN, "ModuloSensitivityN.__call__", "count > 0", "count >= 0"),
    Mutant("modulo_sensitivity_n", "rounding is a difference", OWN, "", "ROUNDING = 1e-12", "ROUNDING = 0.0"),
    Mutant(
        "modulo_sensitivity_n",
        "sums of single stretches",
        RANKS,
        "_sums",
        "torch.stack(stretches, dim=1).cumsum(dim=1)",
        "torch.stack(stretches, dim=1)",
    ),
    Mutant(
        "modulo_sensitivity_n",
        "another stream",
        SETS,
        "nested_sets",
        "scene.generator('sets')",
        "scene.generator('ties')",
    ),
    Mutant(
        "modulo_sensitivity_n",
        "all features too",
        SETS,
        "nested_sets",
        "log_counts(count - 1, sizes)",
        "log_counts(count, sizes)",
    ),
    Mutant(
        "modulo_sensitivity_n",
        "mean curve over all samples",
        SETS,
        "point_by_point",
        "np.maximum(defined.sum(axis=0), 1)",
        "len(evidence)",
    ),
]
