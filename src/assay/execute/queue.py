"""Which artifact may be computed next: the part of scheduling that does not care where that happens."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from heapq import heappop, heappush

from assay.artifacts.artifact import Artifact
from assay.core.records import Record
from assay.store.protocol import Records

_FIRST = ("evidence", "score")  # what is begun is finished before something else is begun


class Queue:
    """Artifacts that wait, and the records that they need."""

    def __init__(self, artifacts: Iterable[Artifact], store: Records) -> None:
        self.artifacts = list(artifacts)
        coming = {artifact.key for artifact in self.artifacts}
        needed = [list(dict.fromkeys(need.key for need in artifact.needs)) for artifact in self.artifacts]
        self.records: dict[str, Record] = dict(store.known({key for keys in needed for key in keys} - coming))
        self._needed = needed
        self._unknown = [sum(key in coming for key in keys) for keys in needed]
        self._waiting: defaultdict[str, list[int]] = defaultdict(list)  # by what they wait for
        self._ready: list[tuple[bool, int]] = []
        for place, keys in enumerate(needed):
            for key in keys:
                if key in coming:
                    self._waiting[key].append(place)
            if not self._unknown[place]:
                self._push(place)

    def __bool__(self) -> bool:
        """Whether there was anything to compute."""
        return bool(self.artifacts)

    def next(self) -> tuple[Artifact, dict[str, Record]] | None:
        """The first artifact whose needs are known, with these; None where all others wait for something."""
        if not self._ready:
            return None
        _, place = heappop(self._ready)
        return self.artifacts[place], {key: self.records[key] for key in self._needed[place]}

    def learn(self, record: Record) -> None:
        """A record that was made; kept only if an artifact needs it."""
        waiting = self._waiting.pop(record.key, [])
        if waiting:
            self.records[record.key] = record
        for place in waiting:
            self._unknown[place] -= 1
            if not self._unknown[place]:
                self._push(place)

    def _push(self, place: int) -> None:
        heappush(self._ready, (self.artifacts[place].kind not in _FIRST, place))
