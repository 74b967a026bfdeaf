"""Wrong versions of modulo insertion and modulo deletion."""

from __future__ import annotations

from contracts.mutants.mutant import Mutant, each

RANKS = "assay.kit.feature_orders"
CURVES = "assay.kit.curves"
ORDER = "assay.metrics._order"
OWN = "assay.metrics.modulo_deletion"
MODULO = ("modulo_insertion", "modulo_deletion")

MUTANTS = [
    *each(
        MODULO,
        "lowest first",
        RANKS,
        "return values.argsort(dim=1, descending=True, stable=True)",
        "return values.argsort(dim=1, stable=True)",
    ),
    *each(
        MODULO,
        "last of equals first",
        RANKS,
        "return values.argsort(dim=1, descending=True, stable=True)",
        "return values.argsort(dim=1, stable=True).flip(1)",
    ),
    *each(
        MODULO,
        "no starting point",
        CURVES,
        "torch.cat([torch.zeros_like(total), hits.cumsum(dim=1)], dim=1)",
        "hits.cumsum(dim=1)",
    ),
    *each(
        MODULO,
        "a step late",
        CURVES,
        "torch.cat([torch.zeros_like(total), hits.cumsum(dim=1)], dim=1)",
        "torch.cat([torch.zeros_like(total), torch.zeros_like(total), hits.cumsum(dim=1)[:, :-1]], dim=1)",
    ),
    *each(
        MODULO,
        "over the number of features",
        CURVES,
        "total = hits.sum(dim=1, keepdim=True)",
        "total = torch.ones_like(hits).sum(dim=1, keepdim=True)",
    ),
    *each(MODULO, "first sample's truth for all", OWN, "true.gather(1,", "true[:1].expand_as(true).gather(1,"),
    *each(MODULO, "absolute ignored", OWN, "feature_order(trial, self.absolute,", "feature_order(trial, False,"),
    *each(MODULO, "ties ignored", OWN, "self.absolute, self.ties)", 'self.absolute, "stable")'),
    *each(
        MODULO,
        "one shuffle for all",
        ORDER,
        ".permutations(values.shape[1]).to(",
        ".permutations(values.shape[1])[:1].expand_as(values).to(",
    ),
    *each(MODULO, "always defined", OWN, "true.any(dim=1)", "true.any(dim=1) | True"),
    *each(MODULO, "curve is not the share met", OWN, "[:, stored])", "[:, stored] ** 2)"),
    *each(
        MODULO,
        "step function instead of trapezoids",
        CURVES,
        "torch.trapezoid(curve.double(), at.double())",
        "(curve.double()[:, 1:] * at.double().diff()).sum(dim=1)",
    ),
    *each(MODULO, "every point kept", OWN, "POINTS = 64", "POINTS = 64000"),
    *each(MODULO, "in the other direction", OWN, 'self.direction == "delete"', 'self.direction != "delete"'),
    *each(
        MODULO,
        "area of the thinned curve",
        OWN,
        "value=area(curve, share)",
        "value=area(curve[:, stored[::7]], share[stored[::7]])",
    ),
    Mutant("modulo_deletion", "counts up", OWN, "(1 - curve) *", "curve *"),
    Mutant("modulo_deletion", "undefined is full", OWN, "(1 - curve) * defined[:, None]", "1 - curve"),
]
