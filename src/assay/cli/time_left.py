"""How much of a run is done, and how long the rest will take."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from assay.artifacts.artifact import Group
from assay.core.machine import Machine
from assay.core.records import Record
from assay.execute.cost import Costs, expected
from assay.execute.plan import Plan
from assay.store.store import Store


class Estimate(NamedTuple):
    """Seconds until all is done; ``complete`` if times are known for every kind of work."""

    seconds: float
    complete: bool


@dataclass
class RunProgress:
    """Counts the records of a run."""

    workers: int
    machine: Machine = Machine()
    left: Counter[Group] | None = None  # None before the plan is made
    done: int = 0
    trouble: Counter[str] = field(default_factory=Counter)  # records that are not ok, by status
    own: Costs = field(default_factory=Costs)  # of this run
    _groups: dict[str, Group] = field(default_factory=dict)  # of planned artifacts, by their key

    def begin(self, plan: Plan, store: Store) -> None:
        """Set the work to be done, and load times of earlier work of the same kinds."""
        self._groups = {artifact.key: artifact.group for artifact in plan.artifacts}
        self.left = Counter(self._groups.values())
        self.earlier = Costs(self.machine).read(store, plan.kinds)

    def note(self, record: Record) -> None:
        assert self.left is not None
        self.done += 1
        self.left[self._groups[record.key]] -= 1
        if record.status != "ok":
            self.trouble[record.status] += 1
        self.own.add(record)

    def estimate(self) -> Estimate | None:
        """None if no time is known for any kind of work left."""
        left = +(self.left or Counter())
        costs = expected(left, self.own, self.earlier) if left else {}
        seconds = sum(count * costs[group].wall for group, count in left.items() if group in costs)
        return Estimate(seconds / max(1, self.workers), costs.keys() == left.keys()) if costs else None

    def how_far(self) -> str:
        return f"{self.done} of {self.done + self.rest} done"

    def interrupted(self, command: str) -> str:
        """A message that says what is done, what is left and how to continue."""
        far = "nothing is computed yet" if self.left is None else f"{self.how_far()} and kept, {self.rest} left"
        return f"interrupted: {far}. Run the same command again to go on: {command}"

    @property
    def rest(self) -> int:
        """The number of artifacts left."""
        return sum((self.left or Counter()).values())
