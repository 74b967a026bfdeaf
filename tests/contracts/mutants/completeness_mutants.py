"""Wrong versions of completeness."""

from __future__ import annotations

from contracts.mutants.mutant import Mutant

MASKS = "assay.kit.feature_orders"
SOCO = "assay.metrics._soco"
REMOVAL = "assay.metrics._removal"
OWN = "assay.metrics.completeness"


def wrong(what: str, module: str, old: str, new: str) -> Mutant:
    return Mutant("completeness", what, module, old, new)


MUTANTS = [
    wrong("lowest removed", MASKS, "level > thresholds", "level < thresholds"),
    wrong("at the level too", MASKS, "level > thresholds", "level >= thresholds"),
    wrong("levels upwards", OWN, "in reversed(range(1, 10))", "in range(1, 10)"),
    wrong("one level too many", OWN, "range(1, 10)", "range(0, 10)"),
    wrong("against the explained class", OWN, "scene.samples.label)", "scene.target)"),
    wrong("score of the true class", SOCO, "query.target.expand", "label.expand"),
    wrong("score for accuracy", OWN, 'int(self.indicator != "accuracy")', "1"),
    wrong("accuracy for score", OWN, 'int(self.indicator != "accuracy")', "0"),
    wrong("probability whatever was asked", SOCO, ".get(indicator, readout)", '.get(indicator, "probability")'),
    wrong("channels cancel", SOCO, "per_feature(raw.abs(), features)", "per_feature(raw, features).abs()"),
    wrong("no minimum taken off", SOCO, "strength - strength.amin(dim=1, keepdim=True)", "strength"),
    wrong("smallest of the block", SOCO, "strength.amin(dim=1, keepdim=True)", "strength.amin()"),
    wrong("not relative to the largest", SOCO, "return scaled_by_largest(strength.clamp", "return (strength.clamp"),
    wrong("nothing cut off", SOCO, "strength.clamp(0, 1)", "strength.clamp(min=0)"),
    wrong("cut at 1", SOCO, "strength.clamp(min=0))", "strength.clamp(0, 1))"),
    wrong("negative values stay", SOCO, "strength.clamp(min=0))", "strength.abs())"),
    wrong(
        "first sample only",
        OWN,
        "above_thresholds(strength, bars[part])",
        "above_thresholds(strength[:1].expand_as(strength), bars[part])",
    ),
    wrong("blank canvas whatever was asked", OWN, "scene, self.canvas", 'scene, "zero"'),
    wrong(
        "the intact input for what is left",
        OWN,
        "left = removal.each(",
        "left = clean[:, None].expand(-1, 9).T + 0 * removal.each(",
    ),
    wrong("accuracy gained", OWN, "clean.mean() - left.mean(axis=0)", "left.mean(axis=0) - clean.mean()"),
    wrong("last level only", OWN, "float(curve.mean())", "float(curve[-1])"),
    wrong("undefined taken for wrong", OWN, "clean.isfinite() & left.isfinite().all(dim=1)", "clean.isfinite()"),
    wrong("own value without the intact input", OWN, "(clean[:, None] - left)", "(0 - left)"),
    wrong(
        "one channel only",
        REMOVAL,
        "features.expand(removed)\n        if",
        "features.expand(removed).clone()\n        removed_entries[:, :, 1:] = False\n        if",
    ),
]
