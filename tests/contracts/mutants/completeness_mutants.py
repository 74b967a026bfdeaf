"""Wrong versions of completeness."""

from __future__ import annotations

from contracts.mutants.mutant import Mutant

MASKS = "assay.kit.feature_orders"
SOCO = "assay.metrics._soco"
REMOVAL = "assay.metrics._removal"
OWN = "assay.metrics.completeness"


def wrong(what: str, module: str, place: str, old: str, new: str) -> Mutant:
    return Mutant("completeness", what, module, place, old, new)


MUTANTS = [
    wrong(
        "lowest removed",
        MASKS,
        "above_thresholds",
        "level > thresholds.view(-1, *[1] * level.dim())",
        "level < thresholds.view(-1, *[1] * level.dim())",
    ),
    wrong(
        "at the level too",
        MASKS,
        "above_thresholds",
        "level > thresholds.view(-1, *[1] * level.dim())",
        "level >= thresholds.view(-1, *[1] * level.dim())",
    ),
    wrong("levels upwards", OWN, "", "reversed(range(1, 10))", "range(1, 10)"),
    wrong("one level too many", OWN, "", "reversed(range(1, 10))", "reversed(range(0, 10))"),
    wrong(
        "against the explained class",
        OWN,
        "Completeness._read",
        "correct_and_score(removal.query, scene.samples.label)",
        "correct_and_score(removal.query, scene.target)",
    ),
    wrong(
        "score of the true class",
        SOCO,
        "correct_and_score.read",
        "query.target.expand(correct.shape)",
        "label.expand(correct.shape)",
    ),
    wrong("score for accuracy", OWN, "Completeness._read", "int(self.indicator != 'accuracy')", "1"),
    wrong("accuracy for score", OWN, "Completeness._read", "int(self.indicator != 'accuracy')", "0"),
    wrong(
        "probability whatever was asked",
        SOCO,
        "readout_of",
        "{'accuracy': 'value', 'probability': 'probability'}.get(indicator, readout)",
        "{'accuracy': 'value', 'probability': 'probability'}.get(indicator, 'probability')",
    ),
    wrong("channels cancel", SOCO, "strengths", "per_feature(raw.abs(), features)", "per_feature(raw, features).abs()"),
    wrong("no minimum taken off", SOCO, "strengths", "strength - strength.amin(dim=1, keepdim=True)", "strength"),
    wrong("smallest of the block", SOCO, "strengths", "strength.amin(dim=1, keepdim=True)", "strength.amin()"),
    wrong(
        "not relative to the largest",
        SOCO,
        "strengths",
        "scaled_by_largest(strength.clamp(0, 1) if transform == 'clamp' else strength.clamp(min=0))",
        "strength.clamp(0, 1) if transform == 'clamp' else strength.clamp(min=0)",
    ),
    wrong("nothing cut off", SOCO, "strengths", "strength.clamp(0, 1)", "strength.clamp(min=0)"),
    wrong("cut at 1", SOCO, "strengths", "strength.clamp(min=0)", "strength.clamp(0, 1)"),
    wrong("negative values stay", SOCO, "strengths", "strength.clamp(min=0)", "strength.abs()"),
    wrong(
        "first sample only",
        OWN,
        "Completeness.__call__",
        "above_thresholds(strength, bars[part])",
        "above_thresholds(strength[:1].expand_as(strength), bars[part])",
    ),
    wrong(
        "blank canvas whatever was asked",
        OWN,
        "Completeness._removal",
        "one_canvas(self.canvas)",
        "'zero'",
    ),
    wrong(
        "the intact input for what is left",
        OWN,
        "Completeness.__call__",
        "left = removal.each(len(bars), lambda part: above_thresholds(strength, bars[part]), read).T",
        "left = clean[:, None].expand(-1, len(bars))",
    ),
    wrong(
        "accuracy gained",
        OWN,
        "Completeness.reduce",
        "clean.mean() - left.mean(axis=0)",
        "left.mean(axis=0) - clean.mean()",
    ),
    wrong("last level only", OWN, "Completeness.reduce", "float(curve.mean())", "float(curve[-1])"),
    wrong(
        "undefined taken for wrong",
        OWN,
        "Completeness.__call__",
        "clean.isfinite() & left.isfinite().all(dim=1)",
        "clean.isfinite()",
    ),
    wrong("own value without the intact input", OWN, "Completeness.__call__", "clean[:, None] - left", "0 - left"),
    wrong(
        "one channel only",
        REMOVAL,
        "Removal.__call__",
        "removed_entries = self.query.setting.features.expand(removed)",
        "removed_entries = self.query.setting.features.expand(removed).clone()\nremoved_entries[:, :, 1:] = False",
    ),
]
