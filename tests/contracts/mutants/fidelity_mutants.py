"""Wrong versions of F-Fidelity and of its two parts."""

from __future__ import annotations

from contracts.mutants.mutant import Mutant, each

MASKS = "assay.kit.feature_orders"
ORDER = "assay.metrics._order"
OWN = "assay.metrics.f_fidelity"
REMOVAL = "assay.metrics._removal"
DELTA, PLUS, MINUS = "f_fidelity", "f_fidelity_plus", "f_fidelity_minus"
CALL, SOME = "FFidelity.__call__", "FFidelity._without_some"
CHANCE = "self.beta * order.shape[1] / counts"


def all_of_them(wrong: str, module: str, place: str, old: str, new: str) -> list[Mutant]:
    return each((DELTA, PLUS, MINUS), wrong, module, place, old, new)


MUTANTS = [
    *all_of_them(
        "one feature too many",
        MASKS,
        "among_first",
        "position < counts.reshape(*counts.shape, *[1] * (position.dim() + 1 - counts.dim()))",
        "position <= counts.reshape(*counts.shape, *[1] * (position.dim() + 1 - counts.dim()))",
    ),
    *all_of_them("no largest chance", OWN, SOME, f"({CHANCE}).clamp(max=self.alpha)", CHANCE),
    *all_of_them("one chance for all sizes", OWN, SOME, CHANCE, "self.alpha + 0 * counts"),
    *all_of_them("a share of the set, not of the input", OWN, SOME, CHANCE, "self.beta + 0 * counts"),
    *all_of_them(
        "one draw for all sizes",
        OWN,
        SOME,
        "draws.uniform(len(size), *shape)",
        "draws.uniform(self.draws, *shape)[:, torch.arange(part.start, part.stop) % self.draws]",
    ),
    *all_of_them(
        "the same features in every draw",
        OWN,
        SOME,
        "draws.uniform(len(size), *shape)",
        "draws.uniform(1, *shape).expand(-1, len(size), *shape)",
    ),
    *all_of_them(
        "the same features of all samples",
        OWN,
        SOME,
        "draws.uniform(len(size), *shape)",
        "draws.uniform(len(size), *shape)[:1]",
    ),
    *all_of_them("the other features stay", OWN, SOME, "number < chance[size]", "number >= chance[size]"),
    *all_of_them(
        "sizes and draws confused",
        OWN,
        SOME,
        "torch.arange(part.start, part.stop, device=order.device) // self.draws",
        "torch.arange(part.start, part.stop, device=order.device) % len(counts)",
    ),
    *all_of_them(
        "the first draw alone",
        OWN,
        SOME,
        "answers.unflatten(0, (len(counts), self.draws)).mean(dim=1)",
        "answers.unflatten(0, (len(counts), self.draws))[:, 0]",
    ),
    *all_of_them("one size fewer", OWN, CALL, "self.sizes + 1", "self.sizes"),
    *all_of_them(
        "sizes never",
        OWN,
        CALL,
        "feature_order(trial, self.absolute, ties='random')",
        "feature_order(trial, False, ties='random')",
    ),
    *all_of_them(
        "sizes always",
        OWN,
        CALL,
        "feature_order(trial, self.absolute, ties='random')",
        "feature_order(trial, True, ties='random')",
    ),
    *all_of_them("ties in reading order", ORDER, "feature_order", "ties == 'random'", "False"),
    *all_of_them(
        "explained class for the true one",
        ORDER,
        "removal_and_read",
        "correctness(removal.query, scene.samples.label)",
        "correctness(removal.query, scene.target)",
    ),
    *all_of_them("accuracy whatever was asked", ORDER, "removal_and_read", "by == 'accuracy'", "True"),
    *all_of_them("no temperature", OWN, CALL, "Question(self.readout, self.temperature)", "Question(self.readout)"),
    *all_of_them(
        "asks what the environment asks",
        OWN,
        CALL,
        "Question(self.readout, self.temperature)",
        "Question(None, self.temperature)",
    ),
    *all_of_them(
        "the first reference row", REMOVAL, "Removal._read", "torch.stack(answers).double().mean(dim=0)", "answers[0]"
    ),
    *all_of_them("last size for the mean", ORDER, "mean_rows", "curve.mean(dim=1)", "curve[:, -1]"),
    *all_of_them("gain for loss", OWN, CALL, "higher - lower", "lower - higher"),
    *each((DELTA, MINUS), "as many others as explained", OWN, CALL, "total - counts", "counts"),
    *each((DELTA, MINUS), "the explanation for the rest", OWN, CALL, "order.flip(1)", "order"),
    *each(
        (PLUS, MINUS),
        "the bare canvas for the input",
        OWN,
        CALL,
        "read(removal.query.x[None])",
        "read(removal.query.baseline[None])",
    ),
]
