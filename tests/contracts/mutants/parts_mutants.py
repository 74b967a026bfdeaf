"""Wrong versions of the metrics about named parts of the input."""

from __future__ import annotations

from contracts.mutants.mutant import Mutant, each

PARTS = "assay.metrics._parts"
IGNORES = "assay.metrics.ignores_part"
SHARE = "assay.metrics.part_share"
ACCURACY = "assay.metrics.accuracy"
ALL = ("accuracy", "ignores_part")

MUTANTS = [
    *each(
        ALL,
        "zeros, not the baseline",
        PARTS,
        "only",
        "baseline_for(setting, setting.question.baseline, x)",
        "baseline_for(setting, 'zero', x)",
    ),
    *each(ALL, "the rest is kept", PARTS, "only", "setting.features.expand(keep)", "~setting.features.expand(keep)"),
    *each(
        ("ignores_part", "part_share"),
        "any part",
        PARTS,
        "part_of",
        "return setting.parts[name]",
        "return [*setting.parts.values()][-1]",
    ),
    Mutant(
        "accuracy",
        "complete inputs, always",
        ACCURACY,
        "Accuracy._correct",
        "x = only(scene.setting, part_of(scene.setting, self.keep), x)",
        "",
    ),
    Mutant(
        "ignores_part",
        "the explained class",
        IGNORES,
        "IgnoresPart.probe",
        "correctness(query, scene.samples.label)",
        "correctness(query, scene.target)",
    ),
    Mutant(
        "ignores_part",
        "complete inputs need not be right",
        IGNORES,
        "IgnoresPart.reduce",
        "min(mean['complete'], mean['without'])",
        "mean['without']",
    ),
    Mutant(
        "ignores_part",
        "inputs without it need not be right",
        IGNORES,
        "IgnoresPart.reduce",
        "min(mean['complete'], mean['without'])",
        "mean['complete']",
    ),
    Mutant(
        "ignores_part",
        "worse than chance is a guess",
        IGNORES,
        "IgnoresPart.reduce",
        "abs(mean['alone'] - mean['chance'])",
        "mean['alone'] - mean['chance']",
    ),
    Mutant("ignores_part", "chance of two classes", IGNORES, "IgnoresPart.probe", "1 / classes", "0.5"),
    Mutant(
        "ignores_part",
        "either will do",
        IGNORES,
        "IgnoresPart.reduce",
        "float(right and guesses)",
        "float(right or guesses)",
    ),
    Mutant(
        "ignores_part",
        "undefined samples count",
        IGNORES,
        "IgnoresPart.reduce",
        "evidence[name][defined]",
        "evidence[name]",
    ),
    Mutant(
        "ignores_part",
        "a fixed limit",
        IGNORES,
        "IgnoresPart.reduce",
        "min(mean['complete'], mean['without']) >= self.least",
        "min(mean['complete'], mean['without']) >= 0.99",
    ),
    Mutant(
        "ignores_part",
        "a fixed tolerance",
        IGNORES,
        "IgnoresPart.reduce",
        "abs(mean['alone'] - mean['chance']) <= self.tolerance",
        "abs(mean['alone'] - mean['chance']) <= 0.1",
    ),
    Mutant(
        "part_share",
        "signed attribution",
        SHARE,
        "PartShare.__call__",
        "trial.map.double().abs()",
        "trial.map.double()",
    ),
    Mutant("part_share", "of the rest", SHARE, "PartShare.__call__", "sizes[:, 0] / total", "sizes[:, 1] / total"),
    Mutant(
        "part_share",
        "relative to the rest",
        SHARE,
        "PartShare.__call__",
        "total = sizes.sum(dim=1)",
        "total = sizes[:, 1]",
    ),
    Mutant(
        "part_share",
        "joins first",
        SHARE,
        "PartShare.probe",
        "(alone - nothing + complete - rest) / 2",
        "alone - nothing",
    ),
    Mutant(
        "part_share",
        "joins last",
        SHARE,
        "PartShare.probe",
        "(alone - nothing + complete - rest) / 2",
        "complete - rest",
    ),
    Mutant(
        "part_share",
        "signed values",
        SHARE,
        "PartShare.probe",
        "torch.stack(values, dim=1).abs()",
        "torch.stack(values, dim=1)",
    ),
    Mutant("part_share", "nothing is zero", SHARE, "PartShare.probe", "torch.zeros_like(part)", "part"),
    Mutant("part_share", "always the attribution", SHARE, "PartShare.__call__", "self.of == 'model'", "False"),
]
