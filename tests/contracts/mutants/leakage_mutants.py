"""Wrong versions of the metric that guesses classes from deletion masks."""

from __future__ import annotations

from contracts.mutants.mutant import Mutant

LEAKAGE = "assay.metrics.mask_leakage"
CALL, DELETED, REDUCE = (f"MaskLeakage.{name}" for name in ("__call__", "_deleted", "reduce"))


def _wrong(wrong: str, place: str, old: str, new: str) -> Mutant:
    return Mutant("mask_leakage", wrong, LEAKAGE, place, old, new)


ORDER = "feature_order(trial, False, 'stable' if lowest else 'random', lowest)"
COUNT = "counts_of_shares(order.shape[1], [self.share])"
SUMS = "cell_sums(trial.map.flatten(1), cells)"
GUESS = "nearness.round(ROUNDING).argmax(axis=1)"

MUTANTS = [
    _wrong("the explained class", CALL, "scene.samples.label", "scene.target"),
    _wrong("always the label", CALL, "self.classes == 'predicted'", "False"),
    _wrong("any model", CALL, "not classifies(scene)", "False"),
    _wrong("highest first in ids", DELETED, ORDER, ORDER.replace(", lowest)", ", not lowest)")),
    _wrong("ties in reading order", DELETED, ORDER, ORDER.replace("'random'", "'stable'")),
    _wrong("ties shuffled", DELETED, ORDER, ORDER.replace("'stable'", "'random'")),
    _wrong("by size", DELETED, ORDER, ORDER.replace("False", "True")),
    _wrong("one feature more", DELETED, COUNT, COUNT.replace("counts", "1 + counts")),
    _wrong("the order as positions", DELETED, "positions(order)", "order"),
    _wrong("all but the last cell", DELETED, "cells.max().cpu() + 1", "cells.max().cpu()"),
    _wrong("everything but the cell", DELETED, "cells == chosen[:, None]", "cells != chosen[:, None]"),
    _wrong("the lowest cell", DELETED, f"{SUMS}.argmax(dim=1)", f"{SUMS}.argmin(dim=1)"),
    _wrong("cells by size", DELETED, SUMS, SUMS.replace("flatten(1)", "flatten(1).abs()")),
    _wrong("always the highest cell", DELETED, "self.masks == 'idsds'", "False"),
    _wrong("trained on the test fold too", "_guesses", "(label == name) & ~out", "label == name"),
    _wrong("trained on the test fold alone", "_guesses", "(label == name) & ~out", "(label == name) & out"),
    _wrong("the most alike, whatever its size", "_guesses", "(centroids ** 2).sum(axis=1)", "0"),
    _wrong("the farthest class", "_guesses", GUESS, GUESS.replace("argmax", "argmin")),
    _wrong("rounding decides ties", "_guesses", "nearness.round(ROUNDING)", "nearness"),
    _wrong("folds of neighbours", "_guesses", "np.arange(size) % folds", "np.arange(size) * folds // size"),
    _wrong("accuracy alone", REDUCE, "float(right - by_chance)", "float(right)"),
    _wrong("chance is an even share", REDUCE, "right - by_chance", "right - size / len(classes)"),
    _wrong("chance is the most frequent class", REDUCE, "right - by_chance", "right - np.bincount(label).max()"),
    _wrong("a count, not a share", REDUCE, "float(right - by_chance) / size", "float(right - by_chance)"),
    _wrong("small classes count", REDUCE, "sizes >= self.folds", "sizes >= 2"),
    _wrong("undefined samples count", REDUCE, "np.flatnonzero(evidence.defined)", "np.arange(len(evidence))"),
    _wrong("one class is a question", REDUCE, "len(classes) < 2", "len(classes) < 1"),
]  # fmt: skip
