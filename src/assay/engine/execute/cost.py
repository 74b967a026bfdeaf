"""Expected seconds of artifacts, from those of the same group that were computed before; else from the same kind."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from assay.core.machine import Machine
from assay.core.records import Kind, Record
from assay.engine.artifacts.artifact import Group

if TYPE_CHECKING:
    from assay.engine.store.protocol import RunStore

SAMPLE = 5_000  # records of a kind that are read from a store


class Cost(NamedTuple):
    """Seconds of one artifact."""

    wall: float
    cpu: float


FREE = Cost(0.0, 0.0)


@dataclass
class _Times:
    """The times of one group. The first artifact of a group in a process includes warm-up: it counts only as long as
    there is no other."""

    kind: Kind
    first: Cost | None = None  # the shortest of those with warm-up
    count: int = 0  # of the others
    wall: float = 0.0
    cpu: float = 0.0

    def add(self, cost: Cost, is_first: bool) -> None:
        if is_first:
            self.first = min(self.first or cost, cost)
        else:
            self.count, self.wall, self.cpu = self.count + 1, self.wall + cost.wall, self.cpu + cost.cpu

    @property
    def typical(self) -> Cost:
        return Cost(self.wall / self.count, self.cpu / self.count) if self.count else self.first or FREE


class Costs:
    """What groups of artifacts cost, as far as their records say."""

    def __init__(self, machine: Machine | None = None) -> None:
        self._machine = machine  # records that were made with another device, dtype or thread count are left out
        self._times: dict[str, _Times] = {}  # by the key of the group
        self._skipped: set[str] = set()  # keys of groups

    def read(self, store: RunStore, kinds: Iterable[str]) -> Costs:
        """Add records of a store, a random choice where it has many."""
        for kind in kinds:
            for record in store.sample(kind, SAMPLE):
                self.add(record)
        return self

    def add(self, record: Record) -> None:
        group = str(record.origin.get("group", ""))
        if not self._is_comparable(record):
            return
        if record.status == "skipped":
            self._skipped.add(group)
        if "wall" in record.cost:
            cost = Cost(record.cost["wall"], record.cost.get("cpu", record.cost["wall"]))
            times = self._times.setdefault(group or record.kind, _Times(record.kind))
            times.add(cost, bool(record.origin.get("first", False)))

    def of_group(self, group: Group) -> Cost | None:
        """What an artifact of this group costs; nothing where the group does not apply; None where it is not known."""
        times = self._times.get(group.key)
        return times.typical if times else FREE if group.key in self._skipped else None

    def of_kinds(self) -> dict[str, Cost]:
        """By kind, the mean over groups."""
        groups: dict[str, list[Cost]] = {}
        for times in self._times.values():
            groups.setdefault(times.kind, []).append(times.typical)
        return {
            kind: Cost(fmean(cost.wall for cost in costs), fmean(cost.cpu for cost in costs))
            for kind, costs in groups.items()
        }

    def _is_comparable(self, record: Record) -> bool:
        machine, origin = self._machine, record.origin
        return (
            machine is None
            or "device" not in origin
            or (
                (origin["device"], origin["dtype"], origin["threads"])
                == (machine.device, machine.dtype, machine.threads)
            )
        )


def known(groups: Collection[Group], *sources: Costs) -> dict[Group, Cost]:
    """The cost of an artifact of each group, from the first source that has the group; others are left out."""
    costs: dict[Group, Cost] = {}
    for source in reversed(sources):
        costs |= {group: cost for group in groups if (cost := source.of_group(group)) is not None}
    return costs


def expected(groups: Collection[Group], *sources: Costs) -> dict[Group, Cost]:
    """As ``known``; a group that no source has costs what its kind does on average. Unknown kinds are left out."""
    kinds: dict[str, Cost] = {}
    for source in reversed(sources):
        kinds |= source.of_kinds()
    return {group: kinds[group.kind] for group in groups if group.kind in kinds} | known(groups, *sources)
