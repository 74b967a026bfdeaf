"""Wrong versions of the metrics about named parts of the input."""

from __future__ import annotations

from contracts.mutants.mutant import Mutant, each

PARTS = "assay.metrics._parts"
IGNORES = "assay.metrics.ignores_part"
SHARE = "assay.metrics.part_share"
ACCURACY = "assay.metrics.accuracy"
ALL = ("accuracy", "ignores_part")

MUTANTS = [
    *each(ALL, "zeros, not the baseline", PARTS, "setting.question.baseline, x)", '"zero", x)'),
    *each(
        ALL,
        "the rest is kept",
        PARTS,
        "x.where(setting.features.expand(keep)",
        "x.where(~setting.features.expand(keep)",
    ),
    *each(
        ("ignores_part", "part_share"),
        "any part",
        PARTS,
        "return setting.parts[name]",
        "return [*setting.parts.values()][-1]",
    ),
    Mutant("accuracy", "complete inputs, always", ACCURACY, "if self.keep:", "if False:"),
    Mutant("ignores_part", "the explained class", IGNORES, "scene.samples.label)", "scene.target)"),
    Mutant(
        "ignores_part",
        "complete inputs need not be right",
        IGNORES,
        'min(mean["complete"], mean["without"])',
        'mean["without"]',
    ),
    Mutant(
        "ignores_part",
        "inputs without it need not be right",
        IGNORES,
        'min(mean["complete"], mean["without"])',
        'mean["complete"]',
    ),
    Mutant(
        "ignores_part",
        "worse than chance is a guess",
        IGNORES,
        'abs(mean["alone"] - mean["chance"])',
        '(mean["alone"] - mean["chance"])',
    ),
    Mutant("ignores_part", "chance of two classes", IGNORES, "(len(x),), 1 / classes", "(len(x),), 0.5"),
    Mutant("ignores_part", "either will do", IGNORES, "right and guesses", "right or guesses"),
    Mutant("ignores_part", "undefined samples count", IGNORES, "evidence[name][defined]", "evidence[name]"),
    Mutant("ignores_part", "a fixed limit", IGNORES, ">= self.least", ">= 0.99"),
    Mutant(
        "ignores_part",
        "a fixed tolerance",
        IGNORES,
        'guesses = abs(mean["alone"] - mean["chance"]) <= self.tolerance',
        'guesses = abs(mean["alone"] - mean["chance"]) <= 0.1',
    ),
    Mutant("part_share", "signed attribution", SHARE, "trial.map.double().abs()", "trial.map.double()"),
    Mutant("part_share", "of the rest", SHARE, "sizes[:, 0] / total", "sizes[:, 1] / total"),
    Mutant("part_share", "relative to the rest", SHARE, "total = sizes.sum(dim=1)", "total = sizes[:, 1]"),
    Mutant("part_share", "joins first", SHARE, "(alone - nothing + complete - rest) / 2", "alone - nothing"),
    Mutant("part_share", "joins last", SHARE, "(alone - nothing + complete - rest) / 2", "complete - rest"),
    Mutant("part_share", "signed values", SHARE, "torch.stack(values, dim=1).abs()", "torch.stack(values, dim=1)"),
    Mutant("part_share", "nothing is zero", SHARE, "torch.zeros_like(part), part", "part, part"),
    Mutant("part_share", "always the attribution", SHARE, 'if self.of == "model":', "if False:"),
]
