"""Wrong versions of remove and retrain."""

from __future__ import annotations

from contracts.mutants.mutant import Mutant

OWN = "assay.metrics.roar"
MUTANTS = [
    Mutant(
        "roar",
        "one feature too many",
        "assay.kit.feature_orders",
        "return position < counts",
        "return position <= counts",
    ),
    Mutant("roar", "lowest first", OWN, 'self.ties, self.order == "lerf")', 'self.ties, self.order == "morf")'),
    Mutant("roar", "lowest first, globally", OWN, '-mean if self.order == "lerf"', '-mean if self.order == "morf"'),
    Mutant("roar", "features of evaluated rows stay", OWN, "[(share, repeat)]))", "[(0, repeat)]))"),
    Mutant("roar", "features of training rows stay", OWN, "orders, group))", "orders, [(0, 0)] * len(group)))"),
    Mutant(
        "roar", "another seed for every share", OWN, '"retraining", repeat) for _,', '"retraining", _, repeat) for _,'
    ),
    Mutant("roar", "one seed for all repeats", OWN, '"retraining", repeat)', '"retraining")'),
    Mutant("roar", "the first repeat only", OWN, 'f"{share}.{repeat}."))', 'f"{share}.0."))'),
    Mutant("roar", "the model of another share", OWN, 'f"{share}.{repeat}."))', 'f"0.{repeat}."))'),
    Mutant(
        "roar",
        "asks the old model",
        OWN,
        "replace(scene.setting, model=model.to",
        "replace(scene.setting) or dict(m=model.to",
    ),
    Mutant(
        "roar",
        "against the explained class",
        OWN,
        "outputs.argmax(dim=3) == label[",
        "outputs.argmax(dim=3) == trial.scene.target[",
    ),
    Mutant(
        "roar", "trained on the explained class", OWN, "(x, scene.samples.label, seeds)", "(x, scene.target, seeds)"
    ),
    Mutant("roar", "size whatever is asked, globally", OWN, "(size if self.absolute else maps)", "size"),
    Mutant("roar", "sizes of maps count, globally", OWN, "torch.where(total > 0, total, 1.0)", "1.0"),
    Mutant("roar", "the first map for all", OWN, ".mean(dim=0, keepdim=True)", "[:1]"),
    Mutant(
        "roar",
        "each row's own order after all",
        OWN,
        'trial.prepared["order"][:, None] if',
        "self._order(trial)[None] if",
    ),
    Mutant("roar", "not divided by the width", OWN, "/ (at[-1] - at[0])", ""),
    Mutant("roar", "mean over points", OWN, "area(curve, at) / (at[-1] - at[0])", "curve.mean(dim=1)"),
    Mutant("roar", "accuracy although more is better", OWN, "else 1 - height", "else height"),
    Mutant("roar", "blank canvas whatever was asked", OWN, "scene, self.canvas,", 'scene, "zero",'),
    Mutant(
        "roar", "no ties dealt globally", OWN, "descending_order(mean, shuffle[", "descending_order(mean, None and ["
    ),
    Mutant("roar", "the same ties for every repeat", OWN, "position[repeat % len(orders)]", "position[0]"),
    Mutant("roar", "balanced by nothing", OWN, '["label"] == label]', '["label"] >= 0]'),
    Mutant("roar", "the other class counts as positive", OWN, 'evidence["label"] == 1', 'evidence["label"] == 0'),
    Mutant("roar", "undefined samples count", OWN, "np.flatnonzero(evidence.defined)", "slice(None)"),
    Mutant("roar", "the first group only", OWN, "range(0, len(names), size)", "range(0, size, size)"),
    Mutant("roar", "the largest value of the curve", OWN, "right.double().mean(dim=2)", "right.double().amax(dim=2)"),
]
