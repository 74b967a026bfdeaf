"""Wrong versions of precision, recall and F1."""

from __future__ import annotations

from contracts.mutants.mutant import Mutant, each

SOFT = "assay.kit.soft"
SMOOTH = "assay.kit.smooth"
SIGNED = "assay.metrics._signed"
OWN = "assay.metrics.{}"
SOFTS = ("precision", "recall", "f1")

MUTANTS = [
    *each(
        SOFTS,
        "first sample only",
        SIGNED,
        "normalised(trial.map.flatten(1))",
        "normalised(trial.map.flatten(1)[:1].expand(len(trial), -1))",
    ),
    *each(
        SOFTS,
        "one channel only",
        SIGNED,
        "normalised(trial.map.flatten(1))",
        "normalised(trial.attribution[:, 0].flatten(1))",
    ),
    *each(SOFTS, "rounding counts as a sign", SOFT, "NOISE = 1e-9", "NOISE = 0.0"),
    *each(
        SOFTS,
        "signs flipped",
        SOFT,
        'case "positive":\n            return values.clamp(min=0)',
        'case "positive":\n            return (-values).clamp(min=0)',
    ),
    *each(
        SOFTS,
        "negative means either",
        SOFT,
        "return (-values).clamp(min=0)\n    raise",
        "return values.abs()\n    raise",
    ),
    *each(
        SOFTS,
        "negatives over the largest positive",
        SOFT,
        "return scaled(values.clamp(min=0)) - scaled((-values).clamp(min=0))",
        "return values / values.amax(dim=1, keepdim=True).clamp(min=1e-30)",
    ),
    *each(SOFTS, "largest of the whole block", SOFT, "values.amax(dim=1, keepdim=True))", "values.amax())"),
    *each(SOFTS, "truth not smoothed", SIGNED, "scaled(blur(true.view_as(trial.effect), smooth).flatten(1))", "true"),
    *each(
        ("precision", "f1"),
        "smoothed truth not back at 1",
        SIGNED,
        "scaled(blur(true.view_as(trial.effect), smooth).flatten(1))",
        "blur(true.view_as(trial.effect), smooth).flatten(1)",
    ),
    *each(
        SOFTS,
        "smoothed down but not across",
        SMOOTH,
        "conv2d(down, kernel.view(1, 1, 1, -1), padding=(0, reach))",
        "down",
    ),
    *each(SOFTS, "half the sigma", SMOOTH, "-0.5 * (offsets / sigma)", "-2.0 * (offsets / sigma)"),
    *each(SOFTS, "always defined", OWN, "defined=true.any(dim=1)", "defined=true.any(dim=1) | True"),
    *each(SOFTS, "defined by the map", OWN, "defined=true.any(dim=1)", "defined=claimed.any(dim=1)"),
    *each(
        SOFTS,
        "graded truth left as it is",
        SIGNED,
        "signed(normalised(trial.effect.flatten(1)), sign)",
        "signed(trial.effect.flatten(1).double(), sign)",
    ),
    Mutant(
        "precision",
        "over the truth",
        SOFT,
        "_over((claimed * true).sum(dim=1), claimed.sum(dim=1))",
        "_over((claimed * true).sum(dim=1), true.sum(dim=1))",
    ),
    Mutant(
        "precision",
        "over the number of features",
        SOFT,
        "_over((claimed * true).sum(dim=1), claimed.sum(dim=1))",
        "(claimed * true).mean(dim=1)",
    ),
    Mutant(
        "recall",
        "over the claim",
        SOFT,
        "_over((claimed * true).sum(dim=1), true.sum(dim=1))",
        "_over((claimed * true).sum(dim=1), claimed.sum(dim=1))",
    ),
    Mutant(
        "recall",
        "share of features touched",
        SOFT,
        "_over((claimed * true).sum(dim=1), true.sum(dim=1))",
        "_over(((claimed > 0) * true).sum(dim=1), true.sum(dim=1))",
    ),
    Mutant("f1", "arithmetic mean", SOFT, "_over(2 * found * covered, found + covered)", "(found + covered) / 2"),
    Mutant("f1", "half of it", SOFT, "2 * found * covered", "found * covered"),
]
