"""Wrong versions of soundness."""

from __future__ import annotations

from contracts.mutants.mutant import Mutant

CURVES = "assay.kit.curves"
SETS = "assay.metrics._soco_sets"
RULE = "assay.metrics._soco_rule"
SOCO = "assay.metrics._soco"
OWN = "assay.metrics.soundness"


def wrong(what: str, module: str, old: str, new: str) -> Mutant:
    return Mutant("soundness", what, module, old, new)


MUTANTS = [
    wrong("a rise equal to the threshold is none", RULE, "self.threshold - TINY if", "self.threshold + TINY if"),
    wrong("a rise equal to the threshold counts", RULE, "<= self.threshold + TINY", "< self.threshold - TINY"),
    wrong(
        "steps that rise are false",
        RULE,
        "too_small = rise < self.threshold - TINY",
        "too_small = rise >= self.threshold - TINY",
    ),
    wrong("no start", RULE, " & (level > self.start + TINY)", ""),
    wrong("false only up to the start", RULE, "level > self.start", "level <= self.start"),
    wrong(
        "before the first step as after it", RULE, "np.diff(level, prepend=0.0)", "np.diff(level, prepend=level[:1])"
    ),
    wrong("lag ignored", RULE, "if self.lag:", "if False:"),
    wrong("always a lag", RULE, "if self.lag:", "if True:"),
    wrong("false attribution forgotten", RULE, "false_sum = np.cumsum(", "false_sum = (lambda new, axis: new)("),
    wrong("share of all attribution", RULE, "1 - false_sum / included", "1 - false_sum / included[:, -1:]"),
    wrong("false share for sound share", RULE, "1 - false_sum / included", "false_sum / included"),
    wrong("everything so far is false", RULE, "np.diff(included, axis=1, prepend=0.0) * false", "included * false"),
    wrong("the set decides for each sample", RULE, "if scores is not None:", "if False:"),
    wrong("halves whatever the rise", RULE, "or self._too_small(rise)", ""),
    wrong("never halves", RULE, "stop - start == 1 or self._too_small(rise)", "True"),
    wrong("compared with the start of the whole", RULE, "(level[start - 1] if start else 0.0)", "0.0"),
    wrong("last step that reaches a level", RULE, "int(steps[0])", "int(steps[-1])"),
    wrong("levels exceeded", RULE, "level >= wanted - TINY", "level > wanted + TINY"),
    wrong("against the explained class", OWN, "trial.scene.samples.label)", "trial.scene.target)"),
    wrong(
        "attribution of what is out",
        OWN,
        ".cumsum(dim=1).gather(1, counts - 1)",
        ".flip(1).cumsum(dim=1).gather(1, counts - 1)",
    ),
    wrong("one feature too few", OWN, "gather(1, counts - 1)\n", "gather(1, (counts - 2).clamp(min=0))\n"),
    wrong("removes what should be in", OWN, "out = ~among_first", "out = among_first"),
    wrong("the rest never kept", OWN, 'self.rest == "kept"', "False"),
    wrong("the rest always kept", OWN, 'self.rest == "kept"', "True"),
    wrong("accuracy for probability", OWN, '"score" if self.indicator == "probability" else "correct"', '"correct"'),
    wrong("mean over all levels", OWN, "share[reached].mean()", "share[reached].sum() / len(self.levels)"),
    wrong("undefined samples count", OWN, "array[defined]", "array"),
    wrong("a map of zeros is judged", OWN, " & (strength > 0).any(dim=1)", ""),
    wrong("adaptive as it is", OWN, 'if self.expansion == "adaptive" else', "if False else"),
    wrong("no answer taken for wrong", SOCO, ".where(finite, torch.nan)", ""),
    wrong("blank canvas whatever was asked", OWN, "trial.scene, self.canvas", 'trial.scene, "zero"'),
    wrong("by area whatever was asked", SETS, 'if expansion == "mass":', "if False:"),
    wrong("segments by their sum", SETS, "labels, segments) / sizes", "labels, segments)"),
    wrong("segments cut apart", SETS, "ends.gather(1, counts - 1)", "counts"),
    wrong("cells of one size too few", SETS, "CELLS = 8", "CELLS = 7"),
    wrong(
        "one feature too much mass",
        SETS,
        "torch.searchsorted(cumulative, needed) + 1",
        "torch.searchsorted(cumulative, needed) + 2",
    ),
    wrong("equal attributions in reading order", SETS, 'if ties == "random":', "if False:"),
    wrong("removed share rounded up", CURVES, "* total + 1e-6).floor()", "* total - 1e-6).ceil()"),
]
