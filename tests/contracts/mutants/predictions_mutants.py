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
    Mutant("accuracy", "always a model", ACCURACY, "Accuracy._correct", "self.of in ('model', 'sibling')", "True"),
    Mutant("accuracy", "never the sibling", ACCURACY, "Accuracy._correct", "self.of == 'sibling'", "False"),
    Mutant("accuracy", "the sibling where there is one", ACCURACY, "Accuracy._correct", "self.of == 'sibling'", "True"),
    Mutant(
        "accuracy",
        "the least frequent label",
        ACCURACY,
        "Accuracy._correct",
        "label == scene.setting.reference.label.mode().values",
        "label == scene.setting.reference.label.bincount().argmin()",
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
        "Accuracy._correct",
        "scores.argmax(dim=1)",
        "scores.argmin(dim=1)",
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
