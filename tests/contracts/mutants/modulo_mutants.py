"""Wrong versions of modulo insertion and modulo deletion."""

from __future__ import annotations

from contracts.mutants.mutant import Mutant, each

RANKS = "assay.kit.feature_orders"
CURVES = "assay.kit.curves"
ORDER = "assay.metrics._order"
OWN = "assay.metrics.modulo"
MODULO = ("modulo_insertion", "modulo_deletion")

MUTANTS = [
    *each(
        MODULO,
        "lowest first",
        RANKS,
        "descending_order",
        "values.argsort(dim=1, descending=True, stable=True)",
        "values.argsort(dim=1, stable=True)",
    ),
    *each(
        MODULO,
        "last of equals first",
        RANKS,
        "descending_order",
        "values.argsort(dim=1, descending=True, stable=True)",
        "values.argsort(dim=1, stable=True).flip(1)",
    ),
    *each(
        MODULO,
        "no starting point",
        CURVES,
        "cumulative_share",
        "torch.cat([torch.zeros_like(total), hits.cumsum(dim=1)], dim=1)",
        "hits.cumsum(dim=1)",
    ),
    *each(
        MODULO,
        "a step late",
        CURVES,
        "cumulative_share",
        "[torch.zeros_like(total), hits.cumsum(dim=1)]",
        "[torch.zeros_like(total), torch.zeros_like(total), hits.cumsum(dim=1)[:, :-1]]",
    ),
    *each(
        MODULO,
        "over the number of features",
        CURVES,
        "cumulative_share",
        "hits.sum(dim=1, keepdim=True)",
        "torch.ones_like(hits).sum(dim=1, keepdim=True)",
    ),
    *each(
        MODULO,
        "first sample's truth for all",
        OWN,
        "ModuloDeletion.__call__",
        "true.gather(1, feature_order(trial, self.absolute, self.ties))",
        "true[:1].expand_as(true).gather(1, feature_order(trial, self.absolute, self.ties))",
    ),
    *each(
        MODULO,
        "absolute ignored",
        OWN,
        "ModuloDeletion.__call__",
        "feature_order(trial, self.absolute, self.ties)",
        "feature_order(trial, False, self.ties)",
    ),
    *each(
        MODULO,
        "ties ignored",
        OWN,
        "ModuloDeletion.__call__",
        "feature_order(trial, self.absolute, self.ties)",
        "feature_order(trial, self.absolute, 'stable')",
    ),
    *each(
        MODULO,
        "one shuffle for all",
        ORDER,
        "feature_order",
        "trial.scene.draws('ties').permutations(values.shape[1])",
        "trial.scene.draws('ties').permutations(values.shape[1])[:1].expand_as(values)",
    ),
    *each(
        MODULO,
        "always defined",
        OWN,
        "ModuloDeletion.__call__",
        "defined = true.any(dim=1)",
        "defined = true.any(dim=1) | True",
    ),
    *each(
        MODULO,
        "curve is not the share met",
        OWN,
        "ModuloDeletion.__call__",
        "curve[:, stored]",
        "curve[:, stored] ** 2",
    ),
    *each(
        MODULO,
        "step function instead of trapezoids",
        CURVES,
        "area",
        "torch.trapezoid(curve.double(), at.double())",
        "(curve.double()[:, 1:] * at.double().diff()).sum(dim=1)",
    ),
    *each(MODULO, "every point kept", OWN, "", "POINTS = 64", "POINTS = 64000"),
    *each(
        MODULO,
        "in the other direction",
        OWN,
        "ModuloDeletion.__call__",
        "self.direction == 'delete'",
        "self.direction != 'delete'",
    ),
    *each(
        MODULO,
        "area of the thinned curve",
        OWN,
        "ModuloDeletion.__call__",
        "area(curve, share)",
        "area(curve[:, stored[::7]], share[stored[::7]])",
    ),
    Mutant("modulo_deletion", "counts up", OWN, "ModuloDeletion.__call__", "1 - curve", "curve"),
    Mutant(
        "modulo_deletion",
        "undefined is full",
        OWN,
        "ModuloDeletion.__call__",
        "(1 - curve) * defined[:, None]",
        "1 - curve",
    ),
]
