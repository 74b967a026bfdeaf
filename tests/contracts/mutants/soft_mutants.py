"""Wrong versions of precision, recall and F1."""

from __future__ import annotations

from contracts.mutants.mutant import Mutant, each

SOFT = "assay.kit.soft_precision"
GRIDS = "assay.kit.map_grids"
SMOOTH = "assay.kit.blur"
SIGNED = "assay.metrics.signed_truth"
SOFTS = ("precision", "recall", "f1")
AGREE = "sign_agreement"

MUTANTS = [
    *each(
        SOFTS,
        "first sample only",
        SIGNED,
        "claimed_and_true",
        "without_rounding(trial)",
        "without_rounding(trial)[:1].expand(len(trial), -1)",
    ),
    *each(
        SOFTS,
        "one channel only",
        SIGNED,
        "without_rounding",
        "trial.map.flatten(1)",
        "trial.attribution[:, 0].flatten(1)",
    ),
    *each((*SOFTS, AGREE), "rounding counts as a sign", SIGNED, "", "UNITS = 32", "UNITS = 0"),
    *each(
        (*SOFTS, AGREE),
        "what a method cannot resolve counts",
        SIGNED,
        "without_rounding",
        "trial.resolution is not None",
        "False",
    ),
    *each(
        (*SOFTS, AGREE),
        "the document's truth whatever is explained",
        SIGNED,
        "effect",
        "trial.effect if truth == 'explained' else trial.scene.truth.effect",
        "trial.scene.truth.effect",
    ),
    *each(
        (*SOFTS, AGREE),
        "the explained truth where the document's is asked for",
        SIGNED,
        "effect",
        "trial.effect if truth == 'explained' else trial.scene.truth.effect",
        "trial.effect",
    ),
    Mutant(
        AGREE,
        "features that are not named count",
        SIGNED,
        "SignAgreement.__call__",
        "true.abs() * (claimed != 0)",
        "true.abs()",
    ),
    Mutant(
        AGREE,
        "every feature counts the same",
        SIGNED,
        "SignAgreement.__call__",
        "true.abs() * (claimed != 0)",
        "(true * claimed != 0).double()",
    ),
    Mutant(
        AGREE,
        "signs reversed",
        SIGNED,
        "SignAgreement.__call__",
        "named * (claimed * true > 0)",
        "named * (claimed * true < 0)",
    ),
    Mutant(
        AGREE,
        "over all of the map",
        SIGNED,
        "SignAgreement.__call__",
        "true.abs() * (claimed != 0)",
        "claimed.abs()",
    ),
    Mutant(
        AGREE,
        "always defined",
        SIGNED,
        "SignAgreement.__call__",
        "rows(value=(right / total.where(defined, 1.0)).where(defined, 0.0), defined=defined)",
        "rows(value=(right / total.where(defined, 1.0)).where(defined, 0.0), defined=defined | True)",
    ),
    *each(SOFTS, "signs flipped", SOFT, "part_of_sign", "return values.clamp(min=0)", "return (-values).clamp(min=0)"),
    *each(SOFTS, "negative means either", SOFT, "part_of_sign", "(-values).clamp(min=0)", "values.abs()"),
    *each(
        SOFTS,
        "negatives over the largest positive",
        SOFT,
        "normalised",
        "scaled_by_largest(values.clamp(min=0)) - scaled_by_largest((-values).clamp(min=0))",
        "values / values.amax(dim=1, keepdim=True).clamp(min=1e-30)",
    ),
    *each(
        SOFTS,
        "largest of the whole block",
        SOFT,
        "scaled_by_largest",
        "values.amax(dim=1, keepdim=True)",
        "values.amax()",
    ),
    *each(
        SOFTS,
        "truth not smoothed",
        SIGNED,
        "claimed_and_true",
        "scaled_by_largest(blur(true.view_as(trial.effect), smooth).flatten(1))",
        "true",
    ),
    *each(
        ("precision", "f1"),
        "smoothed truth not back at 1",
        SIGNED,
        "claimed_and_true",
        "scaled_by_largest(blur(true.view_as(trial.effect), smooth).flatten(1))",
        "blur(true.view_as(trial.effect), smooth).flatten(1)",
    ),
    *each(
        SOFTS,
        "smoothed down but not across",
        SMOOTH,
        "blur",
        "conv2d(down, kernel.view(1, 1, 1, -1), padding=(0, reach))",
        "down",
    ),
    *each(
        SOFTS,
        "half the sigma",
        SMOOTH,
        "gaussian_kernel",
        "-0.5 * (offsets / sigma) ** 2",
        "-2.0 * (offsets / sigma) ** 2",
    ),
    *(
        Mutant(name, wrong, SIGNED, f"{name.title()}.__call__", "true.any(dim=1)", new)
        for name in SOFTS
        for wrong, new in (
            ("always defined", "true.any(dim=1) | True"),
            ("defined by the map", "claimed.any(dim=1)"),
        )
    ),
    *each(
        SOFTS,
        "graded truth left as it is",
        SIGNED,
        "claimed_and_true",
        "normalised(effect(trial, truth).flatten(1))",
        "effect(trial, truth).flatten(1).double()",
    ),
    Mutant("precision", "over the truth", SOFT, "precision", "claimed.sum(dim=1)", "true.sum(dim=1)"),
    Mutant(
        "precision",
        "over the number of features",
        SOFT,
        "precision",
        "_over((claimed * true).sum(dim=1), claimed.sum(dim=1))",
        "(claimed * true).mean(dim=1)",
    ),
    Mutant("recall", "over the claim", SOFT, "recall", "true.sum(dim=1)", "claimed.sum(dim=1)"),
    Mutant(
        "recall",
        "share of features touched",
        SOFT,
        "recall",
        "(claimed * true).sum(dim=1)",
        "((claimed > 0) * true).sum(dim=1)",
    ),
    Mutant(
        "f1",
        "arithmetic mean",
        SOFT,
        "f1",
        "_over(2 * share_true * share_claimed, share_true + share_claimed)",
        "(share_true + share_claimed) / 2",
    ),
    Mutant("f1", "half of it", SOFT, "f1", "2 * share_true", "share_true"),
    Mutant(
        "f1",
        "ceiling is the truth's own score",
        SIGNED,
        "f1_ceiling",
        "best_f1(true, torch.ones_like(true))",
        "f1(true, true)",
    ),
    Mutant("f1", "ceiling of the map", SIGNED, "F1.__call__", "f1_ceiling(trial, true)", "f1_ceiling(trial, claimed)"),
    Mutant("f1", "grid ignored", SIGNED, "f1_ceiling", "trial.grid is None", "True"),
    Mutant(
        "f1", "grid of an inner method believed", SIGNED, "f1_ceiling", "lies_on(trial.grid, trial.map)", "finest > -1"
    ),
    Mutant(
        "f1",
        "signed numbers at nodes",
        GRIDS,
        "lies_on",
        "torch.maximum(error, -numbers.flatten(1).amin(dim=1))",
        "error",
    ),
    Mutant(
        "f1",
        "ceiling of the first cells for all",
        GRIDS,
        "_labels",
        "grid.cells.to(maps.device)",
        "grid.cells[:1].to(maps.device)",
    ),
    Mutant(
        "f1",
        "cells by their truth, not by its share",
        GRIDS,
        "best_f1",
        "true / size.clamp(min=1e-300)",
        "true",
    ),
    Mutant(
        "f1",
        "every cell is one pixel",
        GRIDS,
        "best_f1",
        "2 * hits / (claimed + total).clamp(min=1e-300)",
        "2 * hits / (torch.ones_like(size).cumsum(dim=1) + total)",
    ),
    Mutant(
        "f1",
        "numbers at nodes up to 1 only",
        GRIDS,
        "best_f1_on",
        "true.new_tensor(_best_of_nodes(grid, true))",
        "best_f1((grid.down.T @ true @ grid.across).flatten(1), "
        "torch.outer(grid.down.sum(0), grid.across.sum(0)).flatten().expand(len(true), -1))",
    ),
    Mutant(
        "f1", "largest at the ends only", GRIDS, "_peaks", "[[True], bent, [True]]", "[[True], bent & False, [True]]"
    ),
]
