"""Wrong versions of ROAD and of incremental deletion."""

from __future__ import annotations

from contracts.mutants.mutant import each

CURVES = "assay.kit.curves"
MASKS = "assay.kit.feature_orders"
ORDER = "assay.metrics._order"
ROAD = "assay.metrics.road"
IDS = "assay.metrics.ids"
REMOVAL = "assay.metrics._removal"
ROADS = ("road", "road_lerf")
DELETIONS = ("ids", "ids_descending")

MUTANTS = [
    *each((*ROADS, *DELETIONS), "one feature too many", MASKS, "position < counts", "position <= counts"),
    *each((*ROADS, *DELETIONS), "absolute ignored", ORDER, "values = values.abs() if absolute else values", "pass"),
    *each((*ROADS, *DELETIONS), "last point for the mean", ORDER, "value=curve.mean(dim=1)", "value=curve[:, -1]"),
    *each((*ROADS, *DELETIONS), "in the other direction", ORDER, "-values if lowest else", "values if lowest else -"),
    *each(ROADS, "removed share rounded up", CURVES, "* total + 1e-6).floor()", "* total - 1e-6).ceil()"),
    *each(ROADS, "explained class for the true one", ORDER, "scene.samples.label)", "scene.target)"),
    *each(ROADS, "accuracy whatever was asked", ORDER, 'if by == "accuracy":', "if True:"),
    *each(ROADS, "equal attributions in reading order", ORDER, 'if ties == "random":', "if False:"),
    *each(ROADS, "blank canvas whatever was asked", REMOVAL, "baseline=canvas if", 'baseline="zero" if'),
    *each(ROADS, "logit for probability", ROAD, 'Question("probability")', 'Question("logit")'),
    *each(DELETIONS, "logit for probability", IDS, 'Question("probability")', 'Question("logit")'),
    *each(
        DELETIONS,
        "the bare canvas too",
        IDS,
        "counts = torch.arange(self.steps) *",
        "counts = torch.arange(1, self.steps + 1) *",
    ),
    *each(DELETIONS, "never asked again", IDS, "if self.again:", "if False:"),
    *each(DELETIONS, "asked about the intact input", IDS, "trial.again(x)", "trial.again()"),
    *each(
        DELETIONS,
        "what is deleted comes back",
        IDS,
        "torch.where(position < count, position, new_position + order.shape[1])",
        "new_position",
    ),
    *each(DELETIONS, "own canvas forgotten", REMOVAL, "baseline=_blurred(", "baseline=0 * _blurred("),
    *each(ROADS, "the other end first", ROAD, 'self.order == "lerf"', 'self.order != "lerf"'),
    *each(DELETIONS, "the other end first", IDS, 'self.order == "ascending"', 'self.order != "ascending"'),
]
