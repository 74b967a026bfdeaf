"""Computing in this process: for notebooks, tests and debuggers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from assay.core.evidence import Evidence, Score, merge, read_score
from assay.core.machine import Machine
from assay.core.records import Record
from assay.engine.artifacts.artifact import Artifact
from assay.engine.artifacts.desk import Desk
from assay.engine.artifacts.score import ScoreArtifact
from assay.engine.execute.plan import missing
from assay.engine.store.memory import MemoryStore
from assay.engine.store.protocol import Records


@dataclass(frozen=True)
class Inline:
    """Computes one artifact after the other in this process, in the order of the plan."""

    desk: Desk
    raises: bool = False  # exceptions pass through instead of becoming records

    def run(self, artifacts: Iterable[Artifact], store: Records) -> Iterator[Record]:
        threads = torch.get_num_threads()
        torch.set_num_threads(self.desk.machine.threads)
        try:
            yield from self._records(list(artifacts), store)
        finally:
            torch.set_num_threads(threads)

    def _records(self, artifacts: list[Artifact], store: Records) -> Iterator[Record]:
        """A record is kept as long as an artifact that is still to be computed needs it."""
        uses = Counter(need.key for artifact in artifacts for need in artifact.needs)
        records = dict(store.answers(uses.keys() - {artifact.key for artifact in artifacts}))
        for artifact in artifacts:
            needed = {need.key: records[need.key] for need in artifact.needs}
            record = self.desk.compute(artifact, needed, raises=self.raises)
            for need in artifact.needs:
                uses[need.key] -= 1
                if not uses[need.key]:
                    records.pop(need.key, None)
            if uses[artifact.key]:
                records[artifact.key] = record
            yield record


class MemoryEngine:
    """Computes artifacts in this process and keeps them in memory."""

    def __init__(self, machine: Machine, raises: bool = False) -> None:
        self.store = MemoryStore()
        self.desk = Desk(self.store, machine)
        self._executor = Inline(self.desk, raises)

    def realise(self, wanted: Iterable[Artifact]) -> None:
        """Compute the wanted artifacts that are not in memory yet."""
        for record in self._executor.run(missing(wanted, self.store), self.store):
            self.store.put(record)

    def __getitem__(self, artifact: Artifact) -> Record:
        record = self.store.get(artifact.key)
        assert record is not None, "not realised"
        return record

    def arrays(self, artifact: Artifact) -> dict[str, np.ndarray[Any, Any]]:
        return self.store.load(self[artifact])

    def score(self, artifact: ScoreArtifact, **names: str) -> Score:
        """A score of one seed, with its evidence; ``names`` are its labels."""
        if self[artifact].status != "ok":
            return read_score(self[artifact], names)
        blocks = [Evidence.from_arrays(self.arrays(block)) for block in artifact.evidence[0]]
        return replace(read_score(self[artifact], names, self.arrays(artifact)), evidence=merge(blocks))
