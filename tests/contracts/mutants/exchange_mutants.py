"""Wrong versions of insertion and deletion."""

from __future__ import annotations

from contracts.mutants.mutant import Mutant, each

RANKS = "assay.kit.ranks"
CURVES = "assay.kit.curves"
MASKS = "assay.kit.masks"
ORDER = "assay.metrics._order"
ASK = "assay.metrics._ask"
EXCHANGES = ("insertion", "deletion")

MUTANTS = [
    *each(
        EXCHANGES,
        "lowest first",
        RANKS,
        "return values.argsort(dim=1, descending=True, stable=True)",
        "return values.argsort(dim=1, stable=True)",
    ),
    *each(
        EXCHANGES,
        "last of equals first",
        RANKS,
        "return values.argsort(dim=1, descending=True, stable=True)",
        "return values.argsort(dim=1, stable=True).flip(1)",
    ),
    *each(EXCHANGES, "one feature too many", MASKS, "place < counts", "place <= counts"),
    *each(EXCHANGES, "one feature too few", MASKS, "place < counts", "place + 1 < counts"),
    *each(EXCHANGES, "order taken for place", ORDER, "places(order).view", "order.view"),
    *each(
        EXCHANGES,
        "first sample's order for all",
        ORDER,
        "places(order).view",
        "places(order[:1].expand_as(order)).view",
    ),
    *each(
        EXCHANGES,
        "first channel only",
        ORDER,
        "torch.where(features.expand(among_first(place, counts[part])), after, before)",
        "torch.where(features.expand(among_first(place, counts[part])) & one, after, before)\n\n"
        "    one = torch.zeros_like(after, dtype=torch.bool)\n"
        "    one[:, :1] = True",
    ),
    *each(
        EXCHANGES,
        "first call only",
        ORDER,
        "return query.score_each(len(counts), points).T",
        "return query.score(points(next(query.parts(len(counts)))))[:1].expand(len(counts), -1).T",
    ),
    *each(EXCHANGES, "absolute ignored", ORDER, "values.abs() if absolute else values", "values"),
    *each(EXCHANGES, "always absolute", ORDER, "values.abs() if absolute else values", "values.abs()"),
    *each(
        EXCHANGES,
        "step function instead of trapezoids",
        CURVES,
        "torch.trapezoid(curve.double(), at.double())",
        "(curve.double()[:, 1:] * at.double().diff()).sum(dim=1)",
    ),
    *each(
        EXCHANGES,
        "mean of the points",
        CURVES,
        "torch.trapezoid(curve.double(), at.double())",
        "curve.double().mean(dim=1)",
    ),
    *each(
        EXCHANGES,
        "area over the number of features",
        ORDER,
        "counts.to(curve.device).double() / counts[-1]",
        "counts.to(curve.device).double()",
    ),
    *each(EXCHANGES, "one step too many", CURVES, "steps = min(steps, total)", "steps = min(steps + 1, total)"),
    *each(EXCHANGES, "blank canvas whatever was asked", ASK, "baseline=canvas", 'baseline="zero"'),
    *each(EXCHANGES, "temperature ignored", ASK, "temperature=temperature", "temperature=None"),
    *each(EXCHANGES, "readout ignored", ASK, "readout=readout", 'readout="probability"'),
    *each(
        EXCHANGES,
        "one shuffle for all",
        ORDER,
        ".permutations(values.shape[1]).to(",
        ".permutations(values.shape[1])[:1].expand_as(values).to(",
    ),
    *each(
        EXCHANGES,
        "shuffle not undone",
        RANKS,
        "return shuffle.gather(1, dealt.argsort(dim=1, descending=True, stable=True))",
        "return dealt.argsort(dim=1, descending=True, stable=True)",
    ),
    Mutant("insertion", "deletes", "assay.metrics.insertion", "query.baseline, query.x)", "query.x, query.baseline)"),
    Mutant("deletion", "inserts", "assay.metrics.deletion", "query.x, query.baseline)", "query.baseline, query.x)"),
]
