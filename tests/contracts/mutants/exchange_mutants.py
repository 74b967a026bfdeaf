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
        "descending_order",
        "values.argsort(dim=1, descending=True, stable=True)",
        "values.argsort(dim=1, stable=True)",
    ),
    *each(
        EXCHANGES,
        "last of equals first",
        RANKS,
        "descending_order",
        "values.argsort(dim=1, descending=True, stable=True)",
        "values.argsort(dim=1, stable=True).flip(1)",
    ),
    *each(
        EXCHANGES,
        "one feature too many",
        MASKS,
        "among_first",
        "position < counts.reshape(*counts.shape, *[1] * (position.dim() + 1 - counts.dim()))",
        "position <= counts.reshape(*counts.shape, *[1] * (position.dim() + 1 - counts.dim()))",
    ),
    *each(
        EXCHANGES,
        "one feature too few",
        MASKS,
        "among_first",
        "position < counts.reshape(*counts.shape, *[1] * (position.dim() + 1 - counts.dim()))",
        "position + 1 < counts.reshape(*counts.shape, *[1] * (position.dim() + 1 - counts.dim()))",
    ),
    *each(EXCHANGES, "order taken for place", ORDER, "read_without_first", "positions(order)", "order"),
    *each(
        EXCHANGES,
        "first sample's order for all",
        ORDER,
        "read_without_first",
        "positions(order)",
        "positions(order[:1].expand_as(order))",
    ),
    *each(
        EXCHANGES,
        "first channel only",
        REMOVAL,
        "Removal.__call__",
        "removed_entries = self.query.setting.features.expand(removed)",
        "removed_entries = self.query.setting.features.expand(removed).clone()\nremoved_entries[:, :, 1:] = False",
    ),
    *each(
        EXCHANGES,
        "first call only",
        REMOVAL,
        "Removal.each",
        "torch.cat([self._read(removed(part), read) for part in self.query.parts(count)])",
        "self._read(removed(next(self.query.parts(count))), read)[:1].expand(count, -1)",
    ),
    *each(
        EXCHANGES,
        "explained class for the true one",
        ORDER,
        "removal_and_read",
        "correctness(removal.query, scene.samples.label)",
        "correctness(removal.query, scene.target)",
    ),
    *each(EXCHANGES, "score whatever was asked", ORDER, "removal_and_read", "by == 'accuracy'", "False"),
    *each(EXCHANGES, "blur too wide", REMOVAL, "", "SIGMA = 41 * sqrt(2)", "SIGMA = 2 * 41 * sqrt(2)"),
    *each(EXCHANGES, "blur not scaled with the image", REMOVAL, "_blurred", "min(setting.features.shape) / SIDE", "1"),
    *each(
        EXCHANGES,
        "blur reflected",
        SMOOTH,
        "blur",
        "conv2d(images[:, None], kernel.view(1, 1, -1, 1), padding=(reach, 0))",
        "conv2d(images[:, None], kernel.view(1, 1, -1, 1), padding=(reach, 0)) + images[:, None].mean()",
    ),
    *each(
        EXCHANGES, "absolute ignored", ORDER, "feature_order", "values = values.abs() if absolute else values", "pass"
    ),
    *each(EXCHANGES, "always absolute", ORDER, "feature_order", "values.abs() if absolute else values", "values.abs()"),
    *each(
        EXCHANGES,
        "step function instead of trapezoids",
        CURVES,
        "area",
        "torch.trapezoid(curve.double(), at.double())",
        "(curve.double()[:, 1:] * at.double().diff()).sum(dim=1)",
    ),
    *each(
        EXCHANGES,
        "mean of the points",
        CURVES,
        "area",
        "torch.trapezoid(curve.double(), at.double())",
        "curve.double().mean(dim=1)",
    ),
    *each(
        EXCHANGES,
        "area over the number of features",
        ORDER,
        "area_rows",
        "counts.to(curve.device).double() / counts[-1]",
        "counts.to(curve.device).double()",
    ),
    *each(
        EXCHANGES,
        "one step too many",
        CURVES,
        "even_counts",
        "steps = min(steps, total)",
        "steps = min(steps + 1, total)",
    ),
    *each(
        EXCHANGES,
        "blank canvas whatever was asked",
        REMOVAL,
        "Removal.of",
        "'zero' if callable(canvas) or canvas in MADE_HERE else canvas",
        "'zero'",
    ),
    *each(
        EXCHANGES,
        "temperature ignored",
        DELETION,
        "Deletion.__call__",
        "Question(self.readout, self.temperature)",
        "Question(self.readout)",
    ),
    *each(
        EXCHANGES,
        "one shuffle for all",
        ORDER,
        "feature_order",
        "trial.scene.draws('ties').permutations(values.shape[1])",
        "trial.scene.draws('ties').permutations(values.shape[1])[:1].expand_as(values)",
    ),
    *each(
        EXCHANGES,
        "shuffle not undone",
        RANKS,
        "descending_order",
        "shuffle.gather(1, shuffled.argsort(dim=1, descending=True, stable=True))",
        "shuffled.argsort(dim=1, descending=True, stable=True)",
    ),
    *each(
        EXCHANGES,
        "always the probability",
        DELETION,
        "Deletion.__call__",
        "Question(self.readout, self.temperature)",
        "Question('probability', self.temperature)",
    ),
    *each(
        EXCHANGES,
        "asks what the environment asks",
        DELETION,
        "Deletion.__call__",
        "Question(self.readout, self.temperature)",
        "Question(None, self.temperature)",
    ),
    *each(
        EXCHANGES,
        "in the other direction",
        DELETION,
        "Deletion.__call__",
        "self.direction == 'insert'",
        "self.direction != 'insert'",
    ),
    Mutant(
        "insertion",
        "deletes",
        DELETION,
        "Deletion.__call__",
        "read_without_first(removal, order.flip(1), counts[-1] - counts, read)",
        "read_without_first(removal, order, counts, read)",
    ),
    Mutant("insertion", "lowest first", DELETION, "Deletion.__call__", "order.flip(1)", "order"),
    Mutant(
        "insertion", "steps of the deletion", DELETION, "Deletion.__call__", "counts[-1] - counts", "counts.flip(0)"
    ),
    Mutant(
        "deletion",
        "inserts",
        DELETION,
        "Deletion.__call__",
        "read_without_first(removal, order, counts, read)",
        "read_without_first(removal, order.flip(1), counts[-1] - counts, read)",
    ),
]
