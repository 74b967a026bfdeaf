"""Wrong versions of the metrics about a model's predictions, and of the choice of samples by them."""

from __future__ import annotations

from contracts.mutants.mutant import Mutant, each

COUNTING = "assay.metrics._counting"
ACCURACY = "assay.metrics.accuracy"
CONFIDENCE = "assay.metrics.confidence"
CHOOSING = ("spearman", "top_k", "precision_at_support", "noise_mass")

MUTANTS = [
    *each(CHOOSING, "all samples count, always", COUNTING, "counting_samples", "samples == 'all'", "samples"),
    *each(CHOOSING, "only correct ones, always", COUNTING, "counting_samples", "samples == 'all'", "False"),
    *each(
        CHOOSING,
        "what was asked about",
        COUNTING,
        "counting_samples",
        "scene.question.target == 'predicted'",
        "scene.question.target",
    ),
    *each(
        CHOOSING,
        "the wrong ones",
        COUNTING,
        "counting_samples",
        "targets_for(scene.setting, Question(target='predicted'), scene.samples, scene.machine) == label",
        "targets_for(scene.setting, Question(target='predicted'), scene.samples, scene.machine) != label",
    ),
    *each(CHOOSING, "a value is a class", COUNTING, "counting_samples", "not classifies(scene)", "False"),
    Mutant(
        "accuracy",
        "the explained class",
        ACCURACY,
        "Accuracy.probe",
        "self._correct(scene, scene.samples.x, scene.samples.label)",
        "self._correct(scene, scene.samples.x, scene.target)",
    ),
    Mutant("accuracy", "always a model", ACCURACY, "Accuracy._outputs", "self.of in ('model', 'sibling')", "True"),
    Mutant("accuracy", "never the sibling", ACCURACY, "Accuracy._outputs", "self.of == 'sibling'", "False"),
    Mutant("accuracy", "the sibling where there is one", ACCURACY, "Accuracy._outputs", "self.of == 'sibling'", "True"),
    Mutant("accuracy", "a loss is a gain", ACCURACY, "Accuracy._correct", "now - before", "before - now"),
    Mutant("accuracy", "losses are none", ACCURACY, "Accuracy._correct", "now - before", "(now - before).clamp(min=0)"),
    Mutant(
        "accuracy",
        "the least frequent labels",
        ACCURACY,
        "Accuracy._outputs",
        "known.bincount(minlength=int(label.max()) + 1)",
        "-known.bincount(minlength=int(label.max()) + 1)",
    ),
    Mutant(
        "accuracy",
        "one answer only",
        ACCURACY,
        "Accuracy._right",
        "((outputs > own) | (outputs == own) & first).sum(dim=1) < self.k",
        "((outputs > own) | (outputs == own) & first).sum(dim=1) < 1",
    ),
    Mutant(
        "accuracy",
        "one answer too many",
        ACCURACY,
        "Accuracy._right",
        "((outputs > own) | (outputs == own) & first).sum(dim=1) < self.k",
        "((outputs > own) | (outputs == own) & first).sum(dim=1) <= self.k",
    ),
    Mutant(
        "accuracy",
        "equal outputs are named before the label",
        ACCURACY,
        "Accuracy._right",
        "outputs > own",
        "outputs >= own",
    ),
    Mutant(
        "accuracy",
        "of equal outputs the last counts",
        ACCURACY,
        "Accuracy._right",
        "torch.arange(classes, device=label.device) < label[:, None]",
        "torch.arange(classes, device=label.device) > label[:, None]",
    ),
    Mutant("accuracy", "nothing is missing", ACCURACY, "Accuracy._correct", "self.without is None", "True"),
    Mutant("accuracy", "one cell alone", ACCURACY, "Accuracy._correct", "cells != cell", "cells == cell"),
    Mutant("accuracy", "the first cell only", ACCURACY, "Accuracy._correct", "cells.unique()", "cells.unique()[:1]"),
    Mutant("accuracy", "4 x 4 cells always", ACCURACY, "Accuracy._correct", "self.grid", "(4, 4)"),
    Mutant(
        "accuracy",
        "right without every cell",
        ACCURACY,
        "Accuracy._correct",
        "torch.stack([self._right(self._outputs(scene, some, label), label) for some in shown]).mean(dim=0)",
        "torch.stack([self._right(self._outputs(scene, some, label), label) for some in shown]).amin(dim=0)",
    ),
    Mutant("accuracy", "always the samples", ACCURACY, "Accuracy.probe", "self.on == 'samples'", "True"),
    Mutant(
        "accuracy",
        "one training row",
        ACCURACY,
        "Accuracy.probe",
        "self._correct(scene, reference.x, reference.label).mean()",
        "self._correct(scene, reference.x, reference.label)[0]",
    ),
    Mutant(
        "accuracy",
        "the lowest score of the rule",
        ACCURACY,
        "Accuracy._outputs",
        "scene.setting.rule(x)",
        "-scene.setting.rule(x)",
    ),
    Mutant(
        "accuracy",
        "no answer is wrong",
        ACCURACY,
        "Accuracy.__call__",
        "defined = correct.isfinite()",
        "defined = correct.isfinite() | True",
    ),
    Mutant(
        "confidence",
        "the label's",
        CONFIDENCE,
        "Confidence.probe",
        "query.outputs(query.x).double()",
        "query.outputs(query.x).double()[:, :1]",
    ),
    Mutant("confidence", "of logits", CONFIDENCE, "Confidence.probe", "Question('probability')", "Question('value')"),
    Mutant(
        "confidence",
        "at its own temperature",
        CONFIDENCE,
        "Confidence.probe",
        "Question('probability')",
        "Question('probability', temperature=1.0)",
    ),
    Mutant(
        "confidence",
        "right of the explained class",
        CONFIDENCE,
        "Confidence.probe",
        "predicted == scene.samples.label",
        "predicted == scene.target",
    ),
    Mutant("confidence", "wrong is right", CONFIDENCE, "Confidence.__call__", "~correct", "correct"),
    Mutant(
        "confidence", "always defined", CONFIDENCE, "Confidence.__call__", "counts & confidence.isfinite()", "counts"
    ),
]
