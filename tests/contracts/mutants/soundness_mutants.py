"""Wrong versions of soundness."""

from __future__ import annotations

from contracts.mutants.mutant import Mutant

CURVES = "assay.kit.curves"
SETS = "assay.metrics._soco_sets"
RULE = "assay.metrics.soundness"
SOCO = "assay.metrics._soco"
OWN = "assay.metrics.soundness"


def wrong(what: str, module: str, place: str, old: str, new: str) -> Mutant:
    return Mutant("soundness", what, module, place, old, new)


MUTANTS = [
    wrong(
        "a rise equal to the threshold is none",
        RULE,
        "Rule._too_small",
        "rise < self.threshold - TINY",
        "rise < self.threshold + TINY",
    ),
    wrong(
        "a rise equal to the threshold counts",
        RULE,
        "Rule._too_small",
        "rise <= self.threshold + TINY",
        "rise < self.threshold - TINY",
    ),
    wrong(
        "steps that rise are false",
        RULE,
        "Rule._too_small",
        "rise < self.threshold - TINY",
        "rise >= self.threshold - TINY",
    ),
    wrong(
        "no start",
        RULE,
        "Rule.soundness",
        "self._too_small(np.diff(level, prepend=0.0)) & (level > self.start + TINY)",
        "self._too_small(np.diff(level, prepend=0.0))",
    ),
    wrong(
        "false only up to the start", RULE, "Rule.soundness", "level > self.start + TINY", "level <= self.start + TINY"
    ),
    wrong(
        "before the first step as after it",
        RULE,
        "Rule.soundness",
        "np.diff(level, prepend=0.0)",
        "np.diff(level, prepend=level[:1])",
    ),
    wrong("lag ignored", RULE, "Rule.soundness", "self.lag", "False"),
    wrong("always a lag", RULE, "Rule.soundness", "self.lag", "True"),
    wrong(
        "false attribution forgotten",
        RULE,
        "Rule.soundness",
        "np.cumsum(np.diff(included, axis=1, prepend=0.0) * false, axis=1)",
        "(lambda new, axis: new)(np.diff(included, axis=1, prepend=0.0) * false, axis=1)",
    ),
    wrong(
        "share of all attribution",
        RULE,
        "Rule.soundness",
        "1 - false_sum / included",
        "1 - false_sum / included[:, -1:]",
    ),
    wrong("false share for sound share", RULE, "Rule.soundness", "1 - false_sum / included", "false_sum / included"),
    wrong("everything so far is false", RULE, "Rule.soundness", "np.diff(included, axis=1, prepend=0.0)", "included"),
    wrong("the set decides for each sample", RULE, "Rule.soundness", "scores is not None", "False"),
    wrong(
        "halves whatever the rise",
        RULE,
        "Rule.halved",
        "stop - start == 1 or self._too_small(rise)",
        "stop - start == 1",
    ),
    wrong("never halves", RULE, "Rule.halved", "stop - start == 1 or self._too_small(rise)", "True"),
    wrong("compared with the start of the whole", RULE, "Rule.halved", "level[start - 1] if start else 0.0", "0.0"),
    wrong("last step that reaches a level", RULE, "first_reaching", "int(steps[0])", "int(steps[-1])"),
    wrong("levels exceeded", RULE, "first_reaching", "level >= wanted - TINY", "level > wanted + TINY"),
    wrong(
        "against the explained class",
        OWN,
        "Soundness._read",
        "correct_and_score(removal.query, trial.scene.samples.label)",
        "correct_and_score(removal.query, trial.scene.target)",
    ),
    wrong(
        "attribution of what is out",
        OWN,
        "_included_attribution",
        "strength.double().gather(1, order)",
        "strength.double().gather(1, order).flip(1)",
    ),
    wrong("one feature too few", OWN, "_included_attribution", "counts - 1", "(counts - 2).clamp(min=0)"),
    wrong(
        "removes what should be in",
        OWN,
        "Soundness._read.removed",
        "~among_first(position, distinct[part])",
        "among_first(position, distinct[part])",
    ),
    wrong("the rest never kept", OWN, "Soundness._read.removed", "self.rest == 'kept'", "False"),
    wrong("the rest always kept", OWN, "Soundness._read.removed", "self.rest == 'kept'", "True"),
    wrong(
        "accuracy for probability",
        OWN,
        "Soundness.reduce",
        "'score' if self.indicator == 'probability' else 'correct'",
        "'correct'",
    ),
    wrong(
        "mean over all levels",
        OWN,
        "Soundness.reduce",
        "float(share[reached].mean())",
        "float(share[reached].sum() / len(self.levels))",
    ),
    wrong("undefined samples count", OWN, "Soundness.reduce", "array[defined]", "array"),
    wrong(
        "a map of zeros is judged",
        OWN,
        "Soundness.__call__",
        "correct.isfinite().all(dim=1) & (strength > 0).any(dim=1)",
        "correct.isfinite().all(dim=1)",
    ),
    wrong("adaptive as it is", OWN, "Soundness.reduce", "self.expansion == 'adaptive'", "False"),
    wrong(
        "no answer taken for wrong",
        SOCO,
        "correct_and_score.read",
        "torch.stack([correct, score], dim=-1).where(finite, torch.nan)",
        "torch.stack([correct, score], dim=-1)",
    ),
    wrong(
        "blank canvas whatever was asked",
        OWN,
        "Soundness.__call__",
        "one_canvas(self.canvas)",
        "'zero'",
    ),
    wrong("by area whatever was asked", SETS, "growing_sets", "expansion == 'mass'", "False"),
    wrong(
        "segments by their sum",
        SETS,
        "order_by_segments",
        "_per_segment(strength.double(), labels, segments) / sizes",
        "_per_segment(strength.double(), labels, segments)",
    ),
    wrong("segments cut apart", SETS, "order_by_segments", "ends.gather(1, counts - 1)", "counts"),
    wrong("cells of one size too few", SETS, "", "CELLS = 8", "CELLS = 7"),
    wrong(
        "one feature too much mass",
        SETS,
        "counts_by_mass",
        "torch.searchsorted(cumulative, needed) + 1",
        "torch.searchsorted(cumulative, needed) + 2",
    ),
    wrong("equal attributions in reading order", SETS, "growing_sets", "ties == 'random'", "False"),
    wrong(
        "removed share rounded up",
        CURVES,
        "counts_of_shares",
        "(torch.tensor(shares, dtype=torch.float64) * total + 1e-06).floor()",
        "(torch.tensor(shares, dtype=torch.float64) * total - 1e-06).ceil()",
    ),
]
