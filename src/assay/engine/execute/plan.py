"""The plan: which artifacts a study needs and the store lacks. A resumed run computes this difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.engine.artifacts.artifact import Artifact
from assay.engine.store.protocol import Records

if TYPE_CHECKING:
    from assay.engine.execute.grid import Grid


@dataclass(frozen=True)
class Plan:
    """Artifacts in an order in which each one comes after those it needs."""

    artifacts: tuple[Artifact, ...]
    trials: int = 0  # blocks of attribution in the whole study
    reused: int = 0  # of these, how many are in the store with all their evidence

    @property
    def kinds(self) -> Counter[str]:
        """How many there are of each kind."""
        return Counter(artifact.kind for artifact in self.artifacts)


def plan(grid: Grid, store: Records) -> Plan:
    """The artifacts of a study that the store lacks."""
    artifacts = missing(grid.wanted, store)
    missing_keys = {artifact.key for artifact in artifacts}
    total = reused = 0
    for series in grid.series:
        for block, trial in enumerate(series.trials):
            total += 1
            reused += trial.key not in missing_keys and all(
                evidence[block].key not in missing_keys for evidence in series.evidence.values()
            )
    return Plan(tuple(artifacts), total, reused)


def missing(wanted: Iterable[Artifact], store: Records) -> list[Artifact]:
    """The artifacts that have to be computed, each once, prerequisites right before what needs them.

    A wanted artifact is computed if the store has no answer for it. One that another artifact will read must also be
    intact: its arrays are read and checked.
    """
    wanted = list(wanted)
    wanted_keys = {artifact.key for artifact in wanted}
    answers = store.answers(wanted_keys)
    to_compute: dict[str, Artifact] = {}
    intact: dict[str, bool] = {}

    def add(artifact: Artifact) -> None:
        if artifact.key in to_compute:
            return
        for need in artifact.needs:
            if need.key not in intact:
                absent = need.key in wanted_keys and need.key not in answers
                intact[need.key] = not absent and store.has(need.key, intact=True)
            if not intact[need.key]:
                add(need)
        to_compute[artifact.key] = artifact

    for artifact in wanted:
        if artifact.key not in answers:
            add(artifact)
    return list(to_compute.values())
