"""Wrong versions of completeness."""

from __future__ import annotations

from contracts.mutants.mutant import Mutant

MASKS = "assay.kit.masks"
OWN = "assay.metrics.completeness"

MUTANTS = [
    Mutant("completeness", "lowest removed", MASKS, "level > thresholds", "level < thresholds"),
    Mutant("completeness", "at the level too", MASKS, "level > thresholds", "level >= thresholds"),
    Mutant("completeness", "levels upwards", OWN, "in reversed(range(1, 10))", "in range(1, 10)"),
    Mutant("completeness", "one level too many", OWN, "range(1, 10)", "range(0, 10)"),
    Mutant(
        "completeness",
        "against the explained class",
        OWN,
        "(classes == trial.scene.samples.label)",
        "(classes == trial.scene.target)",
    ),
    Mutant(
        "completeness",
        "clean against the explained class",
        OWN,
        "== scene.samples.label}",
        "== scene.target}",
    ),
    Mutant(
        "completeness",
        "channels cancel",
        OWN,
        "per_feature(raw.abs(), features).flatten(1)",
        "per_feature(raw, features).abs().flatten(1)",
    ),
    Mutant(
        "completeness",
        "no minimum taken off",
        OWN,
        "height = height - height.amin(dim=1, keepdim=True)",
        "pass",
    ),
    Mutant(
        "completeness",
        "smallest of the block",
        OWN,
        "height.amin(dim=1, keepdim=True)",
        "height.amin()",
    ),
    Mutant("completeness", "not relative to the largest", OWN, "scaled(height).view", "height.view"),
    Mutant("completeness", "nothing cut off", OWN, ".clamp(0, 1)", ""),
    Mutant(
        "completeness",
        "first sample only",
        OWN,
        "expand(above(height, levels[part]))",
        "expand(above(height[:1], levels[part]))",
    ),
    Mutant(
        "completeness",
        "one channel only",
        OWN,
        "expand(above(height, levels[part]))",
        "expand(above(height, levels[part])).clone()\n            drop[:, :, 1:] = False",
    ),
    Mutant(
        "completeness",
        "first call only",
        OWN,
        "for part in query.parts(len(levels))])",
        "for part in [slice(0, 1)] * 9])",
    ),
    Mutant(
        "completeness",
        "blank canvas whatever was asked",
        OWN,
        "baseline=self.canvas",
        'baseline="zero"',
    ),
    Mutant(
        "completeness",
        "accuracy gained",
        OWN,
        "clean.mean() - kept.mean(axis=0)",
        "kept.mean(axis=0) - clean.mean()",
    ),
    Mutant("completeness", "last level only", OWN, "float(curve.mean())", "float(curve[-1])"),
]
