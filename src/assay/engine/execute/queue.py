"""Which artifact is computed next: the part of scheduling that is the same for every executor.

Evidence and scores come first, so that trials in progress are finished. Then shared artifacts come before those that
need them. Among equals, those that take longest come first, so that all workers end at about the same time. A group
whose cost is not known yet goes before all others: its first record tells.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from heapq import heappop, heappush
from math import frexp, inf

from assay.core.records import Record
from assay.engine.artifacts.artifact import Artifact, Group
from assay.engine.execute.cost import Costs
from assay.engine.store.protocol import Records

# Shared artifacts come first, because many others need them; but evidence and scores that are ready precede them.
RANK = {"model": 0, "samples": 1, "fit": 1, "probe": 1, "prepared": 2, "trial": 3, "evidence": 4, "score": 5}
_FIRST = ("evidence", "score")


class Queue:
    """Artifacts to be computed, and the records that they need."""

    def __init__(self, artifacts: Iterable[Artifact], store: Records) -> None:
        self.artifacts = list(artifacts)
        self.costs = Costs()
        queued_keys = {artifact.key for artifact in self.artifacts}
        needed_keys = [list(dict.fromkeys(need.key for need in artifact.needs)) for artifact in self.artifacts]
        self.records: dict[str, Record] = dict(
            store.answers({key for keys in needed_keys for key in keys} - queued_keys)
        )
        self._needed_keys = needed_keys
        self._missing_counts = [sum(key in queued_keys for key in keys) for keys in needed_keys]
        self._waiting: defaultdict[str, list[int]] = defaultdict(list)  # positions, by the key they wait for
        self._ready: dict[str, list[int]] = {}  # heaps of positions, by the key of their group
        self._orders: dict[str, tuple[bool, int, float]] = {}  # of groups, by key: the smallest one is next
        self._groups: dict[str, Group] = {}
        for position, keys in enumerate(needed_keys):
            for key in keys:
                if key in queued_keys:
                    self._waiting[key].append(position)
            if not self._missing_counts[position]:
                self._push(position)

    def __len__(self) -> int:
        """How many artifacts there were to compute."""
        return len(self.artifacts)

    def next(self) -> tuple[Artifact, dict[str, Record]] | None:
        """The first artifact whose needs have records, with these records; None where all others still wait."""
        if not self._ready:
            return None
        group = min(self._ready, key=lambda group: (self._orders[group], self._ready[group][0]))
        position = heappop(self._ready[group])
        if not self._ready[group]:
            del self._ready[group]
        return self.artifacts[position], {key: self.records[key] for key in self._needed_keys[position]}

    def add_record(self, record: Record) -> None:
        """Take in a new record; it is kept only if an artifact needs it."""
        self.costs.add(record)
        group = self._groups.get(str(record.origin.get("group")))
        if group is not None:
            self._orders[group.key] = self._order(group)
        waiting = self._waiting.pop(record.key, [])
        if waiting:
            self.records[record.key] = record
        for position in waiting:
            self._missing_counts[position] -= 1
            if not self._missing_counts[position]:
                self._push(position)

    def _push(self, position: int) -> None:
        group = self.artifacts[position].group
        key = group.key
        if key not in self._groups:
            self._groups[key], self._orders[key] = group, self._order(group)
        heappush(self._ready.setdefault(key, []), position)

    def _order(self, group: Group) -> tuple[bool, int, float]:
        """Times count by their power of 2: groups that take about equally long stay in the order of the plan."""
        cost = self.costs.of_group(group)
        length = inf if cost is None else frexp(cost.wall + 1e-6)[1]
        return group.kind not in _FIRST, RANK[group.kind], -length
