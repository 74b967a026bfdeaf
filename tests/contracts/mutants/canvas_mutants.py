"""Wrong versions of the share of unfamiliar inputs."""

from __future__ import annotations

from contracts.mutants.mutant import Mutant

OWN = "assay.metrics.unfamiliar_share"


def own(what: str, place: str, old: str, new: str) -> Mutant:
    return Mutant("unfamiliar_share", what, OWN, place, old, new)


MUTANTS = [
    own("beyond half of the rows", "", "QUANTILE = 0.95", "QUANTILE = 0.5"),
    own("beyond all rows", "", "QUANTILE = 0.95", "QUANTILE = 1.0"),
    own("equal distances are beyond", "", "ROUNDING = 1e-9", "ROUNDING = -1e-9"),
    own("equal distances are beyond by rounding", "", "ROUNDING = 1e-9", "ROUNDING = 0"),
    own("few rows are enough", "", "FEWEST_ROWS = 20", "FEWEST_ROWS = 10"),
    own("many rows are needed", "", "FEWEST_ROWS = 20", "FEWEST_ROWS = 21"),
    own("each row is its own neighbour", "UnfamiliarShare.probe", "own.kthvalue(2, dim=1)", "own.kthvalue(1, dim=1)"),
    own("the second neighbour", "UnfamiliarShare.probe", "own.kthvalue(2, dim=1)", "own.kthvalue(3, dim=1)"),
    own(
        "the second nearest row",
        "UnfamiliarShare.probe",
        "_distances(points.flatten(0, 1).flatten(1), known, scale).amin(dim=1)",
        "_distances(points.flatten(0, 1).flatten(1), known, scale).kthvalue(2, dim=1).values",
    ),
    own("not scaled", "UnfamiliarShare.probe", "_scale(known)", "torch.ones_like(_scale(known))"),
    own(
        "divided by rounding errors",
        "_scale",
        "deviation.where(known.amax(dim=0) > known.amin(dim=0), 1.0)",
        "deviation",
    ),
    own(
        "variances",
        "_scale",
        "known.std(dim=0, correction=0).double()",
        "known.var(dim=0, correction=0).double()",
    ),
    own("one deviation for all entries", "_scale", "known.std(dim=0, correction=0).double()", "known.std().double()"),
    own("half rounded down", "UnfamiliarShare._removed", "(count + 1) // 2", "count // 2"),
    own("a quarter", "UnfamiliarShare._removed", "(count + 1) // 2", "(count + 1) // 4"),
    own(
        "one set for all",
        "UnfamiliarShare._removed",
        "removed.view(self.sets, 1, *shape)",
        "removed[:1].expand(self.sets, -1).reshape(self.sets, 1, *shape)",
    ),
    own(
        "the first sample's share for all",
        "UnfamiliarShare.probe",
        "torch.cat(far).double().mean(dim=0)",
        "torch.cat(far).double().mean(dim=0)[:1].expand(len(x))",
    ),
    own(
        "the first call only",
        "UnfamiliarShare.probe",
        "torch.cat(far).double().mean(dim=0)",
        "far[0].double().mean(dim=0)",
    ),
    own("blank canvas whatever was asked", "UnfamiliarShare.probe", "self.canvas", "'zero'"),
]
