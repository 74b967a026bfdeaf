"""Wrong versions of precision, recall and F1."""

from __future__ import annotations

from contracts.mutants.mutant import Mutant, each

SOFT = "assay.kit.soft_precision"
SMOOTH = "assay.kit.blur"
SIGNED = "assay.metrics._signed"
OWN = "assay.metrics.{}"
SOFTS = ("precision", "recall", "f1")
AGREE = "sign_agreement"
OWN_AGREE = "assay.metrics.sign_agreement"

MUTANTS = [
    *each(
        SOFTS,
        "first sample only",
        SIGNED,
        "normalised(without_rounding(trial))",
        "normalised(without_rounding(trial)[:1].expand(len(trial), -1))",
    ),
    *each(
        SOFTS,
        "one channel only",
        SIGNED,
        "values = trial.map.flatten(1)",
        "values = trial.attribution[:, 0].flatten(1)",
    ),
    *each((*SOFTS, AGREE), "rounding counts as a sign", SIGNED, "UNITS = 32", "UNITS = 0"),
    *each(
        (*SOFTS, AGREE),
        "what a method cannot resolve counts",
        SIGNED,
        "if trial.resolution is not None:",
        "if False:",
    ),
    *each(
        (*SOFTS, AGREE),
        "the document's truth whatever is explained",
        SIGNED,
        'return trial.effect if truth == "explained" else',
        "return",
    ),
    *each(
        (*SOFTS, AGREE),
        "the explained truth where the document's is asked for",
        SIGNED,
        'return trial.effect if truth == "explained" else trial.scene.truth.effect',
        "return trial.effect",
    ),
    Mutant(AGREE, "features that are not named count", OWN_AGREE, "* (claimed != 0)", ""),
    Mutant(
        AGREE,
        "every feature counts the same",
        OWN_AGREE,
        "true.abs() * (claimed != 0)",
        "(true * claimed != 0).double()",
    ),
    Mutant(AGREE, "signs reversed", OWN_AGREE, "claimed * true > 0", "claimed * true < 0"),
    Mutant(AGREE, "over all of the map", OWN_AGREE, "named = true.abs() * (claimed != 0)", "named = claimed.abs()"),
    Mutant(AGREE, "always defined", OWN_AGREE, "defined=defined)", "defined=defined | True)"),
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
        "return scaled_by_largest(values.clamp(min=0)) - scaled_by_largest((-values).clamp(min=0))",
        "return values / values.amax(dim=1, keepdim=True).clamp(min=1e-30)",
    ),
    *each(SOFTS, "largest of the whole block", SOFT, "values.amax(dim=1, keepdim=True))", "values.amax())"),
    *each(
        SOFTS,
        "truth not smoothed",
        SIGNED,
        "scaled_by_largest(blur(true.view_as(trial.effect), smooth).flatten(1))",
        "true",
    ),
    *each(
        ("precision", "f1"),
        "smoothed truth not back at 1",
        SIGNED,
        "scaled_by_largest(blur(true.view_as(trial.effect), smooth).flatten(1))",
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
        "part_of_sign(normalised(effect(trial, truth).flatten(1)), sign)",
        "part_of_sign(effect(trial, truth).flatten(1).double(), sign)",
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
    Mutant(
        "f1",
        "arithmetic mean",
        SOFT,
        "_over(2 * share_true * share_claimed, share_true + share_claimed)",
        "(share_true + share_claimed) / 2",
    ),
    Mutant("f1", "half of it", SOFT, "2 * share_true * share_claimed,", "share_true * share_claimed,"),
]
