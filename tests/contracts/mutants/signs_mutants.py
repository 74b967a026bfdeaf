"""Wrong versions of sign mixing."""

from __future__ import annotations

from contracts.mutants.mutant import Mutant


def wrong(what: str, place: str, old: str, new: str) -> Mutant:
    return Mutant("sign_mixing", what, "assay.metrics.sign_mixing", place, old, new)


MUTANTS = [
    wrong("rows alone", "SignMixing.__call__", "(-2, -1)", "(-1,)"),
    wrong("same signs", "SignMixing._weights", "(left > 0) != (right > 0)", "(left > 0) == (right > 0)"),
    wrong("products vanish", "SignMixing._weights", "(left > 0) != (right > 0)", "left * right < 0"),
    wrong(
        "pairs of all colours",
        "SignMixing._weights",
        "torch.minimum(left.abs(), right.abs()) * similar",
        "torch.minimum(left.abs(), right.abs())",
    ),
    wrong(
        "one channel will do",
        "SignMixing._weights",
        "((colour - next_colour).abs() <= self.near).all(dim=1)",
        "((colour - next_colour).abs() <= self.near).any(dim=1)",
    ),
    wrong(
        "strictly nearer",
        "SignMixing._weights",
        "(colour - next_colour).abs() <= self.near",
        "(colour - next_colour).abs() < self.near",
    ),
    wrong(
        "the larger of two",
        "SignMixing._weights",
        "torch.minimum(left.abs(), right.abs())",
        "torch.maximum(left.abs(), right.abs())",
    ),
    wrong(
        "pairs counted",
        "SignMixing._weights",
        "torch.minimum(left.abs(), right.abs())",
        "((left != 0) & (right != 0)).double()",
    ),
    wrong("entries for pictures", "SignMixing.__call__", "setting.picture or rgb_pictures", "rgb_pictures"),
    wrong(
        "colours two pixels apart",
        "SignMixing._weights",
        "pictures.narrow(dim, 1, count)",
        "pictures.roll(-2, dim).narrow(dim, 0, count)",
    ),
    wrong("silence is unmixed", "SignMixing.__call__", "defined = total > 0", "defined = total >= 0"),
    wrong("tables have neighbours", "SignMixing.__call__", "setting.kind != 'image'", "False"),
    wrong("any difference", "SignMixing.__post_init__", "not 0 <= self.near <= 1", "False"),
]
