"""The plan: which artifacts still have to be computed, given what a store has. Resuming is set difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from assay.artifacts.artifact import Artifact
from assay.execute.grid import Grid
from assay.store.protocol import Records

# Shared things first: they open the way for many others. The queue finishes what is begun before it begins anew.
RANK = {"model": 0, "samples": 1, "fit": 1, "probe": 1, "prepared": 2, "trial": 3, "evidence": 4, "score": 5}


@dataclass(frozen=True)
class Plan:
    """Artifacts in an order in which each comes after what it needs."""

    artifacts: tuple[Artifact, ...]
    trials: int = 0  # blocks of attribution in the whole study
    reused: int = 0  # of these, how many are in the store with all their evidence

    @property
    def kinds(self) -> Counter[str]:
        """How many there are of each kind."""
        return Counter(artifact.kind for artifact in self.artifacts)


def plan(grid: Grid, store: Records) -> Plan:
    """What is missing of a study."""
    artifacts = missing(grid.wanted, store)
    left = {artifact.key for artifact in artifacts}
    total = reused = 0
    for cell in grid.cells:
        for block, trial in enumerate(cell.trials):
            total += 1
            reused += trial.key not in left and all(found[block].key not in left for found in cell.evidence.values())
    return Plan(tuple(artifacts), total, reused)


def missing(wanted: Iterable[Artifact], store: Records) -> list[Artifact]:
    """What has to be computed, each once, prerequisites first.

    Of what is wanted it is enough that it is there; what will be read for something else is looked at closely.
    """
    wanted = list(wanted)
    asked = {artifact.key for artifact in wanted}
    known = store.known(asked)
    found: dict[str, Artifact] = {}
    sound: dict[str, bool] = {}

    def add(artifact: Artifact) -> None:
        if artifact.key in found:
            return
        found[artifact.key] = artifact
        for need in artifact.needs:
            if need.key not in sound:
                absent = need.key in asked and need.key not in known
                sound[need.key] = not absent and store.has(need.key, sound=True)
            if not sound[need.key]:
                add(need)

    for artifact in wanted:
        if artifact.key not in known:
            add(artifact)
    return sorted(found.values(), key=lambda artifact: RANK[artifact.kind])
