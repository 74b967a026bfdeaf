"""How far a run is, and how long it will take."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from statistics import fmean
from typing import NamedTuple

from assay.core.records import Record
from assay.execute.plan import Plan
from assay.store.store import Store

SAMPLE = 50  # records of a kind whose times are looked at

Times = dict[str, list[float]]  # seconds of records, by their kind


class Estimate(NamedTuple):
    """Seconds until all is done; ``complete`` when no kind of work is left out for want of times."""

    seconds: float
    complete: bool


@dataclass
class Course:
    """Counts the records of a run."""

    workers: int
    left: Counter[str] | None = None  # by kind; None before the plan is made
    done: int = 0
    trouble: Counter[str] = field(default_factory=Counter)  # records that are not ok, by status
    before: Times = field(default_factory=dict)  # of earlier runs
    own: Times = field(default_factory=dict)

    def begin(self, plan: Plan, store: Store) -> None:
        """Take in what is to be done, and how long the like took before."""
        self.left = plan.kinds
        for kind in self.left:
            if times := [record.cost["wall"] for record in store.sample(kind, SAMPLE) if "wall" in record.cost]:
                self.before[kind] = times

    def note(self, record: Record) -> None:
        assert self.left is not None
        self.done += 1
        self.left[record.kind] -= 1
        if record.status != "ok":
            self.trouble[record.status] += 1
        if "wall" in record.cost:
            self.own.setdefault(record.kind, []).append(record.cost["wall"])

    def estimate(self) -> Estimate | None:
        """None where no time is known of anything that is left."""
        known, left = self.before | self.own, +(self.left or Counter())
        told = {kind: count * fmean(known[kind]) for kind, count in left.items() if kind in known}
        return Estimate(sum(told.values()) / max(1, self.workers), told.keys() == left.keys()) if told else None

    def how_far(self) -> str:
        return f"{self.done} of {self.done + self._rest} done"

    def interrupted(self, command: str) -> str:
        """What is done, what is left and how to go on."""
        far = "nothing is computed yet" if self.left is None else f"{self.how_far()} and kept, {self._rest} left"
        return f"interrupted: {far}. Run the same command again to go on: {command}"

    @property
    def _rest(self) -> int:
        return sum((self.left or Counter()).values())
