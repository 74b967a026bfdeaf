"""Wrong versions of the symmetric relevance gain."""

from __future__ import annotations

from contracts.mutants.mutant import Mutant

CURVES = "assay.kit.curves"
ORDER = "assay.metrics._order"
REMOVAL = "assay.metrics._removal"
OWN = "assay.metrics.symmetric_relevance_gain"


def wrong(what: str, module: str, place: str, old: str, new: str) -> Mutant:
    return Mutant("symmetric_relevance_gain", what, module, place, old, new)


MUTANTS = [
    wrong(
        "highest first minus lowest first",
        OWN,
        "SymmetricRelevanceGain.__call__",
        "lowest_first - highest_first",
        "highest_first - lowest_first",
    ),
    wrong(
        "highest first alone",
        OWN,
        "SymmetricRelevanceGain.__call__",
        "lowest_first - highest_first",
        "-highest_first",
    ),
    wrong("lowest first alone", OWN, "SymmetricRelevanceGain.__call__", "lowest_first - highest_first", "lowest_first"),
    wrong("the curve one step late", OWN, "SymmetricRelevanceGain.__call__", "(1, 1)", "(2, 0)"),
    wrong(
        "counts that are not symmetric",
        OWN,
        "SymmetricRelevanceGain.__call__",
        "symmetric_counts(order.shape[1], self.steps)",
        "symmetric_counts(order.shape[1], self.steps)[[0, *range(2, self.steps // 2 + 2), -1]]",
    ),
    wrong(
        "counts rounded down",
        CURVES,
        "symmetric_counts",
        "torch.cat([lower, total - lower]).unique()",
        "even_counts(total, steps)",
    ),
    wrong(
        "the middle left out",
        CURVES,
        "symmetric_counts",
        "lower[: (len(lower) + 1) // 2]",
        "lower[: len(lower) // 2]",
    ),
    wrong("twice the counts", CURVES, "symmetric_counts", "lower = lower[: (len(lower) + 1) // 2]", ""),
    wrong("ties in reading order", ORDER, "feature_order", "ties == 'random'", "False"),
    wrong(
        "sizes always",
        OWN,
        "SymmetricRelevanceGain.__call__",
        "feature_order(trial, self.absolute, ties='random')",
        "feature_order(trial, True, ties='random')",
    ),
    wrong(
        "sizes never",
        OWN,
        "SymmetricRelevanceGain.__call__",
        "feature_order(trial, self.absolute, ties='random')",
        "feature_order(trial, False, ties='random')",
    ),
    wrong(
        "asks what the environment asks",
        OWN,
        "SymmetricRelevanceGain.__call__",
        "Question(self.readout, self.temperature)",
        "Question(None, self.temperature)",
    ),
    wrong(
        "no temperature",
        OWN,
        "SymmetricRelevanceGain.__call__",
        "Question(self.readout, self.temperature)",
        "Question(self.readout)",
    ),
    wrong(
        "explained class for the true one",
        ORDER,
        "removal_and_read",
        "correctness(removal.query, scene.samples.label)",
        "correctness(removal.query, scene.target)",
    ),
    wrong(
        "blank canvas whatever was asked",
        REMOVAL,
        "Removal.of",
        "'zero' if callable(canvas) or canvas in MADE_HERE else canvas",
        "'zero'",
    ),
    wrong(
        "the first reference row",
        REMOVAL,
        "Removal._read",
        "torch.stack(answers).double().mean(dim=0)",
        "answers[0]",
    ),
    wrong("the mean row", REMOVAL, "Removal.versions", "self.rows is None", "True"),
    wrong(
        "one entry of a column",
        REMOVAL,
        "Removal.versions",
        "torch.where(self.query.setting.features.expand(removed), row, self.query.x)",
        "torch.where(self.query.setting.features.expand(removed) & (row == row.amax()), row, self.query.x)",
    ),
    wrong(
        "area over the number of features",
        ORDER,
        "area_rows",
        "counts.to(curve.device).double() / counts[-1]",
        "counts.to(curve.device).double()",
    ),
]
