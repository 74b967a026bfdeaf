"""Wrong versions of remove and retrain."""

from __future__ import annotations

from contracts.mutants.mutant import Mutant

OWN = "assay.metrics.roar"
MUTANTS = [
    Mutant(
        "roar",
        "one feature too many",
        "assay.kit.feature_orders",
        "among_first",
        "position < counts.reshape(*counts.shape, *[1] * (position.dim() + 1 - counts.dim()))",
        "position <= counts.reshape(*counts.shape, *[1] * (position.dim() + 1 - counts.dim()))",
    ),
    Mutant("roar", "lowest first", OWN, "Roar._order", "self.order == 'lerf'", "self.order == 'morf'"),
    Mutant(
        "roar", "lowest first, globally", OWN, "Roar._global_orders", "self.order == 'lerf'", "self.order == 'morf'"
    ),
    Mutant("roar", "features of evaluated rows stay", OWN, "Roar._outputs", "(share, repeat)", "(0, repeat)"),
    Mutant(
        "roar",
        "features of training rows stay",
        OWN,
        "Roar.prepare",
        "self._removed(scene.setting, orders, group)",
        "self._removed(scene.setting, orders, [(0, 0)] * len(group))",
    ),
    Mutant(
        "roar",
        "another seed for every share",
        OWN,
        "Roar.prepare",
        "scene.stream.seed_for('retraining', repeat)",
        "scene.stream.seed_for('retraining', _, repeat)",
    ),
    Mutant(
        "roar",
        "one seed for all repeats",
        OWN,
        "Roar.prepare",
        "scene.stream.seed_for('retraining', repeat)",
        "scene.stream.seed_for('retraining')",
    ),
    Mutant("roar", "the first repeat only", OWN, "Roar._outputs", "f'{share}.{repeat}.'", "f'{share}.0.'"),
    Mutant("roar", "the model of another share", OWN, "Roar._outputs", "f'{share}.{repeat}.'", "f'0.{repeat}.'"),
    Mutant(
        "roar",
        "asks the old model",
        OWN,
        "Roar._outputs",
        "replace(scene.setting, model=model.to(scene.samples.x.device), forward=None)",
        "scene.setting",
    ),
    Mutant(
        "roar",
        "against the explained class",
        OWN,
        "Roar.__call__",
        "label[:, None, None]",
        "trial.scene.target[:, None, None]",
    ),
    Mutant(
        "roar",
        "trained on the explained class",
        OWN,
        "Roar.prepare",
        "recipe.train_many(x, scene.samples.label, seeds)",
        "recipe.train_many(x, scene.target, seeds)",
    ),
    Mutant(
        "roar",
        "size whatever is asked, globally",
        OWN,
        "Roar._global_orders",
        "size if self.absolute else maps",
        "size",
    ),
    Mutant(
        "roar", "sizes of maps count, globally", OWN, "Roar._global_orders", "torch.where(total > 0, total, 1.0)", "1.0"
    ),
    Mutant(
        "roar",
        "the first map for all",
        OWN,
        "Roar._global_orders",
        "((size if self.absolute else maps) / torch.where(total > 0, total, 1.0)).mean(dim=0, keepdim=True)",
        "((size if self.absolute else maps) / torch.where(total > 0, total, 1.0))[:1]",
    ),
    Mutant(
        "roar",
        "each row's own order after all",
        OWN,
        "Roar._outputs",
        "trial.prepared['order'][:, None]",
        "self._order(trial)[None]",
    ),
    Mutant(
        "roar", "not divided by the width", OWN, "Roar._height", "area(curve, at) / (at[-1] - at[0])", "area(curve, at)"
    ),
    Mutant("roar", "mean over points", OWN, "Roar._height", "area(curve, at) / (at[-1] - at[0])", "curve.mean(dim=1)"),
    Mutant("roar", "accuracy although more is better", OWN, "Roar._height", "1 - height", "height"),
    Mutant(
        "roar",
        "blank canvas whatever was asked",
        OWN,
        "Roar._removal",
        "Removal.of(scene, one_canvas(self.canvas), Question('value'), classes='ROAR is about accuracy')",
        "Removal.of(scene, 'zero', Question('value'), classes='ROAR is about accuracy')",
    ),
    Mutant("roar", "no ties dealt globally", OWN, "Roar._global_orders", "shuffle[None].to(mean.device)", "None"),
    Mutant("roar", "the same ties for every repeat", OWN, "Roar._removed", "repeat % len(orders)", "0"),
    Mutant(
        "roar", "balanced by nothing", OWN, "_balanced_accuracy", "evidence['label'] == label", "evidence['label'] >= 0"
    ),
    Mutant(
        "roar", "the other class counts as positive", OWN, "_auroc", "evidence['label'] == 1", "evidence['label'] == 0"
    ),
    Mutant("roar", "undefined samples count", OWN, "Roar.reduce", "np.flatnonzero(evidence.defined)", "slice(None)"),
    Mutant("roar", "the first group only", OWN, "Roar.prepare", "range(0, len(names), size)", "range(0, size, size)"),
    Mutant(
        "roar",
        "the largest value of the curve",
        OWN,
        "Roar.__call__",
        "right.double().mean(dim=2)",
        "right.double().amax(dim=2)",
    ),
]
