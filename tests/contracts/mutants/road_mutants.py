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
    *each(
        (*ROADS, *DELETIONS),
        "one feature too many",
        MASKS,
        "among_first",
        "position < counts.reshape(*counts.shape, *[1] * (position.dim() + 1 - counts.dim()))",
        "position <= counts.reshape(*counts.shape, *[1] * (position.dim() + 1 - counts.dim()))",
    ),
    *each(
        (*ROADS, *DELETIONS),
        "absolute ignored",
        ORDER,
        "feature_order",
        "values = values.abs() if absolute else values",
        "pass",
    ),
    *each((*ROADS, *DELETIONS), "last point for the mean", ORDER, "mean_rows", "curve.mean(dim=1)", "curve[:, -1]"),
    *each(
        (*ROADS, *DELETIONS),
        "in the other direction",
        ORDER,
        "feature_order",
        "-values if lowest else values",
        "values if lowest else -values",
    ),
    *each(
        ROADS,
        "removed share rounded up",
        CURVES,
        "counts_of_shares",
        "(torch.tensor(shares, dtype=torch.float64) * total + 1e-06).floor()",
        "(torch.tensor(shares, dtype=torch.float64) * total - 1e-06).ceil()",
    ),
    *each(
        ROADS,
        "explained class for the true one",
        ORDER,
        "removal_and_read",
        "correctness(removal.query, scene.samples.label)",
        "correctness(removal.query, scene.target)",
    ),
    *each(ROADS, "accuracy whatever was asked", ORDER, "removal_and_read", "by == 'accuracy'", "True"),
    *each(ROADS, "equal attributions in reading order", ORDER, "feature_order", "ties == 'random'", "False"),
    *each(
        ROADS,
        "blank canvas whatever was asked",
        REMOVAL,
        "Removal.of",
        "'zero' if callable(canvas) or canvas in MADE_HERE else canvas",
        "'zero'",
    ),
    *each(ROADS, "logit for probability", ROAD, "Road.__call__", "Question('probability')", "Question('logit')"),
    *each(DELETIONS, "logit for probability", IDS, "Ids.__call__", "Question('probability')", "Question('logit')"),
    *each(
        DELETIONS,
        "the bare canvas too",
        IDS,
        "Ids.__call__",
        "torch.arange(self.steps) * order.shape[1]",
        "torch.arange(1, self.steps + 1) * order.shape[1]",
    ),
    *each(DELETIONS, "never asked again", IDS, "Ids.__call__", "self.again", "False"),
    *each(DELETIONS, "asked about the intact input", IDS, "Ids._updated_order", "trial.again(x)", "trial.again()"),
    *each(
        DELETIONS,
        "what is deleted comes back",
        IDS,
        "Ids._updated_order",
        "torch.where(position < count, position, new_position + order.shape[1])",
        "new_position",
    ),
    *each(
        DELETIONS,
        "own canvas forgotten",
        REMOVAL,
        "Removal._made_here",
        "_blurred(need_images(scene.setting, 'blur'), query.x)",
        "0 * _blurred(need_images(scene.setting, 'blur'), query.x)",
    ),
    *each(ROADS, "the other end first", ROAD, "Road.__call__", "self.order == 'lerf'", "self.order != 'lerf'"),
    *each(
        DELETIONS, "the other end first", IDS, "Ids._order", "self.order == 'ascending'", "self.order != 'ascending'"
    ),
]
