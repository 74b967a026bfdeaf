"""Wrong versions of completeness."""

from __future__ import annotations

from contracts.mutants.mutant import Mutant

MASKS = "assay.kit.masks"
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
    wrong("no minimum taken off", SOCO, "height - height.amin(dim=1, keepdim=True)", "height"),
    wrong("smallest of the block", SOCO, "height.amin(dim=1, keepdim=True)", "height.amin()"),
    wrong("not relative to the largest", SOCO, "return scaled(height.clamp", "return (height.clamp"),
    wrong("nothing cut off", SOCO, "height.clamp(0, 1)", "height.clamp(min=0)"),
    wrong("cut at 1", SOCO, "height.clamp(min=0))", "height.clamp(0, 1))"),
    wrong("negative values stay", SOCO, "height.clamp(min=0))", "height.abs())"),
    wrong("first sample only", OWN, "above(height, bars[part])", "above(height[:1].expand_as(height), bars[part])"),
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
        "features.expand(removed).clone()\n        gone[:, :, 1:] = False\n        if",
    ),
]
