"""Wrong versions of insertion and deletion."""

from __future__ import annotations

from contracts.mutants.mutant import Mutant, each

RANKS = "assay.kit.feature_orders"
CURVES = "assay.kit.curves"
MASKS = "assay.kit.feature_orders"
ORDER = "assay.metrics._order"
REMOVAL = "assay.metrics._removal"
SMOOTH = "assay.kit.blur"
DELETION = "assay.metrics.deletion"
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
    *each(EXCHANGES, "one feature too many", MASKS, "position < counts", "position <= counts"),
    *each(EXCHANGES, "one feature too few", MASKS, "position < counts", "position + 1 < counts"),
    *each(EXCHANGES, "order taken for place", ORDER, "positions(order).view", "order.view"),
    *each(
        EXCHANGES,
        "first sample's order for all",
        ORDER,
        "positions(order).view",
        "positions(order[:1].expand_as(order)).view",
    ),
    *each(
        EXCHANGES,
        "first channel only",
        REMOVAL,
        "        removed_entries = self.query.setting.features.expand(removed)\n",
        "        removed_entries = self.query.setting.features.expand(removed).clone()\n"
        "        removed_entries[:, :, 1:] = False\n",
    ),
    *each(
        EXCHANGES,
        "first call only",
        REMOVAL,
        "torch.cat([read(self(removed(part))) for part in self.query.parts(count)])",
        "read(self(removed(next(self.query.parts(count)))))[:1].expand(count, -1)",
    ),
    *each(EXCHANGES, "explained class for the true one", ORDER, "scene.samples.label)", "scene.target)"),
    *each(EXCHANGES, "score whatever was asked", ORDER, 'if by == "accuracy":', "if False:"),
    *each(EXCHANGES, "blur too wide", REMOVAL, "SIGMA = 41 * sqrt(2)", "SIGMA = 2 * 41 * sqrt(2)"),
    *each(
        EXCHANGES, "blur not scaled with the image", REMOVAL, "share = min(setting.features.shape) / SIDE", "share = 1"
    ),
    *each(EXCHANGES, "blur reflected", SMOOTH, "padding=(reach, 0))", "padding=(reach, 0)) + images[:, None].mean()"),
    *each(EXCHANGES, "absolute ignored", ORDER, "values = values.abs() if absolute else values", "pass"),
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
    *each(EXCHANGES, "blank canvas whatever was asked", REMOVAL, "baseline=canvas if", 'baseline="zero" if'),
    *each(
        EXCHANGES, "temperature ignored", DELETION, "Question(self.readout, self.temperature)", "Question(self.readout)"
    ),
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
        "return shuffle.gather(1, shuffled.argsort(dim=1, descending=True, stable=True))",
        "return shuffled.argsort(dim=1, descending=True, stable=True)",
    ),
    *each(EXCHANGES, "always the probability", DELETION, "Question(self.readout,", 'Question("probability",'),
    *each(EXCHANGES, "asks what the environment asks", DELETION, "Question(self.readout,", "Question(None,"),
    *each(EXCHANGES, "in the other direction", DELETION, 'self.direction == "insert"', 'self.direction != "insert"'),
    Mutant("insertion", "deletes", DELETION, "order.flip(1), counts[-1] - counts", "order, counts"),
    Mutant("insertion", "lowest first", DELETION, "order.flip(1), counts[-1] - counts", "order, counts[-1] - counts"),
    Mutant("insertion", "steps of the deletion", DELETION, "counts[-1] - counts", "counts.flip(0)"),
    Mutant("deletion", "inserts", DELETION, "order, counts, read", "order.flip(1), counts[-1] - counts, read"),
]
