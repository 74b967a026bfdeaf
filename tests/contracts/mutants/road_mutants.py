"""Wrong versions of ROAD and of incremental deletion."""

from __future__ import annotations

from contracts.mutants.mutant import Mutant, each

CURVES = "assay.kit.curves"
MASKS = "assay.kit.masks"
ORDER = "assay.metrics._order"
ROAD = "assay.metrics._road"
IDS = "assay.metrics._ids"
ASK = "assay.metrics._ask"
ROADS = ("road", "road_lerf")
DELETIONS = ("ids", "ids_descending")

MUTANTS = [
    *each((*ROADS, *DELETIONS), "one feature too many", MASKS, "place < counts", "place <= counts"),
    *each((*ROADS, *DELETIONS), "absolute ignored", ORDER, "values = values.abs() if absolute else values", "pass"),
    *each((*ROADS, *DELETIONS), "last point for the mean", ORDER, "value=curve.mean(dim=1)", "value=curve[:, -1]"),
    *each((*ROADS, *DELETIONS), "in the other direction", ORDER, "-values if lowest else", "values if lowest else -"),
    *each(ROADS, "removed share rounded up", CURVES, "* total + 1e-6).floor()", "* total - 1e-6).ceil()"),
    *each(ROADS, "explained class for the true one", ORDER, "scene.samples.label)", "scene.target)"),
    *each(ROADS, "accuracy whatever was asked", ORDER, 'if by == "accuracy":', "if True:"),
    *each(ROADS, "equal attributions in reading order", ORDER, 'if ties == "random":', "if False:"),
    *each(ROADS, "blank canvas whatever was asked", ASK, "canvas if own is None else", '"zero" if own is None else'),
    *each(ROADS, "logit for probability", ROAD, '"probability"', '"logit"'),
    *each(DELETIONS, "logit for probability", IDS, '"probability"', '"logit"'),
    *each(
        DELETIONS, "the bare canvas too", IDS, "counts = torch.arange(steps) *", "counts = torch.arange(1, steps + 1) *"
    ),
    *each(DELETIONS, "never asked again", IDS, "if again:", "if False:"),
    *each(DELETIONS, "asked about the intact input", IDS, "trial.again(x)", "trial.again()"),
    *each(
        DELETIONS,
        "what is deleted comes back",
        IDS,
        "torch.where(place < count, place, fresh + order.shape[1])",
        "fresh",
    ),
    *each(DELETIONS, "own canvas forgotten", ASK, "replace(query, baseline=own)", "query"),
    Mutant("road", "lowest first", "assay.metrics.road", "trial, False,", "trial, True,"),
    Mutant("road_lerf", "highest first", "assay.metrics.road_lerf", "trial, True,", "trial, False,"),
    Mutant("ids", "highest first", "assay.metrics.ids", "trial, True,", "trial, False,"),
    Mutant("ids_descending", "lowest first", "assay.metrics.ids_descending", "trial, False,", "trial, True,"),
]
