"""Wrong versions of the metrics about a model's predictions, and of the choice of samples by them."""

from __future__ import annotations

from contracts.mutants.mutant import Mutant, each

PAIR = "assay.metrics._pair"
ACCURACY = "assay.metrics.accuracy"
CONFIDENCE = "assay.metrics.confidence"
CHOOSING = ("spearman", "top_k", "precision_at_support", "noise_mass")

MUTANTS = [
    *each(CHOOSING, "all samples count, always", PAIR, 'if samples == "all":', "if samples:"),
    *each(CHOOSING, "only correct ones, always", PAIR, 'if samples == "all":', "if False:"),
    *each(CHOOSING, "what was asked about", PAIR, 'scene.question.target == "predicted"', "scene.question.target"),
    *each(CHOOSING, "the wrong ones", PAIR, "scene.machine) == label", "scene.machine) != label"),
    *each(CHOOSING, "a value is a class", PAIR, "if not classifies(scene):", "if False:"),
    Mutant("accuracy", "the explained class", ACCURACY, "scene.samples.label)}", "scene.target)}"),
    Mutant("accuracy", "always the model", ACCURACY, 'if self.of == "model":', "if True:"),
    Mutant("accuracy", "the least frequent label", ACCURACY, "label.mode().values", "label.bincount().argmin()"),
    Mutant("accuracy", "always the samples", ACCURACY, 'if self.on == "samples":', "if True:"),
    Mutant("accuracy", "one training row", ACCURACY, ".mean().expand", "[0].expand"),
    Mutant("accuracy", "the lowest score of the rule", ACCURACY, "scores.argmax(dim=1)", "scores.argmin(dim=1)"),
    Mutant(
        "accuracy",
        "no answer is wrong",
        ACCURACY,
        "defined = correct.isfinite()",
        "defined = correct.isfinite() | True",
    ),
    Mutant("confidence", "the label's", CONFIDENCE, ".double().max(dim=1)", ".double()[:, :1].max(dim=1)"),
    Mutant("confidence", "of logits", CONFIDENCE, 'Question("probability")', 'Question("value")'),
    Mutant(
        "confidence",
        "at its own temperature",
        CONFIDENCE,
        'Question("probability")',
        'Question("probability", temperature=1.0)',
    ),
    Mutant(
        "confidence",
        "right of the explained class",
        CONFIDENCE,
        "predicted == scene.samples.label",
        "predicted == scene.target",
    ),
    Mutant("confidence", "wrong is right", CONFIDENCE, '"wrong": ~correct', '"wrong": correct'),
    Mutant("confidence", "always defined", CONFIDENCE, "counts & confidence.isfinite()", "counts"),
]
