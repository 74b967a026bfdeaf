"""Wrong versions of sign mixing."""

from __future__ import annotations

from contracts.mutants.mutant import Mutant


def wrong(what: str, old: str, new: str) -> Mutant:
    return Mutant("sign_mixing", what, "assay.metrics.sign_mixing", old, new)


MUTANTS = [
    wrong("rows alone", "for dim in (-2, -1)", "for dim in (-1,)"),
    wrong("same signs", "(left > 0) != (right > 0)", "(left > 0) == (right > 0)"),
    wrong("products vanish", "(left > 0) != (right > 0)", "left * right < 0"),
    wrong("pairs of all colours", " * similar", ""),
    wrong("one channel will do", "<= self.near).all(dim=1)", "<= self.near).any(dim=1)"),
    wrong("strictly nearer", "<= self.near).all", "< self.near).all"),
    wrong("the larger of two", "torch.minimum(left", "torch.maximum(left"),
    wrong("pairs counted", "torch.minimum(left.abs(), right.abs())", "((left != 0) & (right != 0)).double()"),
    wrong("entries for pictures", "(setting.picture or rgb_pictures)(", "rgb_pictures("),
    wrong("colours two pixels apart", "pictures.narrow(dim, 1, count)", "pictures.roll(-2, dim).narrow(dim, 0, count)"),
    wrong("silence is unmixed", "defined = total > 0", "defined = total >= 0"),
    wrong("tables have neighbours", 'if setting.kind != "image":', "if False:"),
    wrong("any difference", "if not 0 <= self.near <= 1:", "if False:"),
]
