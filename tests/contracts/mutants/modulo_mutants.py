"""Wrong versions of modulo insertion and modulo deletion."""

from __future__ import annotations

from contracts.mutants.mutant import Mutant, each

RANKS = "assay.kit.ranks"
CURVES = "assay.kit.curves"
ORDER = "assay.metrics._order"
WHOLE = "assay.metrics._whole"
OWN = "assay.metrics.{}"
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
    *each(MODULO, "first sample's truth for all", WHOLE, "true.gather(1,", "true[:1].expand_as(true).gather(1,"),
    *each(MODULO, "absolute ignored", WHOLE, "ordered(trial, absolute, ties)", "ordered(trial, False, ties)"),
    *each(MODULO, "ties ignored", WHOLE, "ordered(trial, absolute, ties)", 'ordered(trial, absolute, "stable")'),
    *each(
        MODULO,
        "one shuffle for all",
        ORDER,
        ".permutations(values.shape[1]).to(",
        ".permutations(values.shape[1])[:1].expand_as(values).to(",
    ),
    *each(MODULO, "always defined", WHOLE, "true.any(dim=1)", "true.any(dim=1) | True"),
    *each(MODULO, "curve is not the share met", OWN, "[:, kept])", "[:, kept] ** 2)"),
    *each(
        MODULO,
        "step function instead of trapezoids",
        CURVES,
        "torch.trapezoid(curve.double(), at.double())",
        "(curve.double()[:, 1:] * at.double().diff()).sum(dim=1)",
    ),
    *each(MODULO, "every point kept", OWN, "POINTS = 64", "POINTS = 64000"),
    Mutant(
        "modulo_insertion",
        "counts down",
        "assay.metrics.modulo_insertion",
        "value=area(share, gone)",
        "value=area(1 - share, gone)",
    ),
    Mutant("modulo_deletion", "counts up", "assay.metrics.modulo_deletion", "left = (1 - share)", "left = share"),
    Mutant(
        "modulo_deletion",
        "undefined is full",
        "assay.metrics.modulo_deletion",
        "(1 - share) * defined[:, None]",
        "1 - share",
    ),
    Mutant(
        "modulo_insertion",
        "area of the thinned curve",
        "assay.metrics.modulo_insertion",
        "value=area(share, gone)",
        "value=area(share[:, kept[::7]], gone[kept[::7]])",
    ),
]
