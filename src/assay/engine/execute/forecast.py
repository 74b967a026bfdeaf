"""The cost of a run before it starts: counts from the plan, times from the store or from one measured block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.core.machine import Machine, Resources
from assay.engine.artifacts.artifact import Artifact, Group
from assay.engine.artifacts.component import Component
from assay.engine.execute.cost import Cost, Costs, expected
from assay.engine.execute.data_files import check_data
from assay.engine.execute.grid import grid
from assay.engine.execute.local import timeout_reason
from assay.engine.execute.measure import LONGEST, measure
from assay.engine.execute.plan import Plan, plan
from assay.engine.store.format import is_store
from assay.engine.store.memory import MemoryStore
from assay.engine.store.store import Store
from assay.studies.study import Study

_NAMES = {"environments": "environment", "methods": "method", "metrics": "metric"}


@dataclass(frozen=True)
class Forecast:
    """What a run would compute and how long that takes."""

    plan: Plan
    seconds: float | None  # of one core; None where no time is known
    wall: float | None  # seconds with these workers
    workers: int
    complete: bool  # False: at least so long
    measured: int  # artifacts that were computed to measure their times
    largest: tuple[tuple[str, str, float], ...]  # kind and label of a component, seconds of one core; largest first

    def to_json(self) -> dict[str, Any]:
        fields = {name: value for name, value in vars(self).items() if name not in ("plan", "largest")}
        largest = [{"kind": kind, "label": label, "seconds": seconds} for kind, label, seconds in self.largest]
        plan = {"jobs": dict(self.plan.kinds), "trials": self.plan.trials, "reused": self.plan.reused}
        return {**plan, **fields, "largest": largest}


def forecast(
    study: Study, root: Path, resources: Resources, announce: Callable[[int], None] = lambda count: None
) -> Forecast:
    """Nothing is written to the store. ``announce`` is told how many groups of artifacts have to be measured."""
    store: Store | MemoryStore = Store.open(root, create=False) if is_store(root) else MemoryStore()
    machine = resources.machine
    remaining = plan(grid(study, machine.dtype), store)
    check_data(study, remaining)
    costs = Costs(machine)
    if isinstance(store, Store):
        costs.read(store, remaining.kinds)
    groups = Counter(artifact.group for artifact in remaining.artifacts)
    unknown = {group for group in groups if group.kind != "score" and costs.of_group(group) is None}
    late_groups: set[Group] = set()
    measured = 0
    if unknown:
        announce(len(unknown))
        artifacts = [artifact for artifact in remaining.artifacts if artifact.group in unknown]
        late_groups, measured = _measured(artifacts, store, machine, costs)
    by_group = expected(groups, costs) | dict.fromkeys(late_groups, Cost(LONGEST, LONGEST))
    missing_groups = {group for group in groups if group.kind != "score"} - by_group.keys()
    total = {group: count * by_group[group].cpu for group, count in groups.items() if group in by_group}
    workers = max(1, resources.workers)
    return Forecast(
        remaining,
        sum(total.values()) if total or not groups else None,
        _wall(remaining.artifacts, by_group, workers) if total or not groups else None,
        workers,
        not late_groups and not missing_groups,
        measured,
        tuple(_largest(study, total)),
    )


def _measured(
    artifacts: list[Artifact], store: Store | MemoryStore, machine: Machine, costs: Costs
) -> tuple[set[Group], int]:
    """Adds measured times to ``costs``. Returns the groups of which one took too long, and the number of records."""
    group_by_key = {artifact.key: artifact.group for artifact in artifacts}
    late_groups, count = set(), 0
    for record in measure(artifacts, store, machine):
        costs.add(record)
        count += 1
        if record.reason == timeout_reason(LONGEST) and record.key in group_by_key:
            late_groups.add(group_by_key[record.key])
    return late_groups, count


def _wall(artifacts: Iterable[Artifact], costs: Mapping[Group, Cost], workers: int) -> float:
    """The work shared by the workers, or the longest chain of artifacts that need each other, whichever is longer."""
    work, ends = 0.0, dict[str, float]()
    for artifact in artifacts:
        wall = costs[artifact.group].wall if artifact.group in costs else 0.0
        work += wall
        ends[artifact.key] = wall + max((ends.get(need.key, 0.0) for need in artifact.needs), default=0.0)
    return max(work / workers, max(ends.values(), default=0.0))


def _largest(study: Study, seconds: Mapping[Group, float]) -> list[tuple[str, str, float]]:
    labels = {
        (kind, str(entry.spec)): entry.label
        for kind, entries in (
            ("environments", study.environments),
            ("methods", study.methods),
            ("metrics", study.metrics),
        )
        for entry in entries
    }
    for entry in study.methods:  # a fit that methods share has the name of the first
        labels.setdefault(("methods", str(Component("methods", entry.spec).fitting)), entry.label)
    totals: Counter[tuple[str, str]] = Counter()
    for group, amount in seconds.items():
        component = group.component
        label = labels.get((component.kind, str(component)), str(component))
        totals[_NAMES[component.kind], label] += amount  # type: ignore[assignment]
    return [(kind, label, float(amount)) for (kind, label), amount in totals.most_common() if amount]
