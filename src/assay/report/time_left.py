"""How much of a run is done, and how long the rest will take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from assay.core.machine import Machine
from assay.core.records import Record
from assay.engine.artifacts.artifact import Group
from assay.engine.execute.cost import Cost, Costs, expected, known
from assay.engine.execute.plan import Plan
from assay.engine.store.protocol import RunStore

SHORT = 5.0  # seconds: a shorter lower bound tells nothing


class Estimate(NamedTuple):
    """Seconds until all is done; not ``complete``: a lower bound, the time of the work whose cost is known."""

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

    def begin(self, plan: Plan, store: RunStore) -> None:
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

    def subject(self, record: Record) -> str:
        """The name of the component whose work a record is."""
        group = self._groups.get(record.key)
        spec = None if group is None else group.component.spec
        return "" if spec is None else spec.name

    def estimate(self) -> Estimate | None:
        """None if too little is known. What one method takes says little about another: where more than half of the
        time left is that of groups not seen yet, only what is known counts."""
        left = +(self.left or Counter())
        likely = expected(left, self.own, self.earlier)
        total, bound = (self._seconds(left, costs) for costs in (likely, known(left, self.own, self.earlier)))
        if likely and likely.keys() == left.keys() and total <= 2 * bound:
            return Estimate(total, complete=True)
        return Estimate(bound, complete=False) if bound >= SHORT else None

    def _seconds(self, left: Counter[Group], costs: Mapping[Group, Cost]) -> float:
        return sum(count * costs[group].wall for group, count in left.items() if group in costs) / max(1, self.workers)

    def how_far(self) -> str:
        return f"{self.done} of {self.done + self.rest} done"

    def interrupted(self, command: str) -> str:
        """A message that says what is done, what is left and how to continue."""
        if not command:
            return f"interrupted: {self.how_far()}, nothing is kept"
        far = "nothing is computed yet" if self.left is None else f"{self.how_far()} and kept, {self.rest} left"
        return f"interrupted: {far}. Run the same command again to go on: {command}"

    @property
    def rest(self) -> int:
        """The number of artifacts left."""
        return sum((self.left or Counter()).values())
