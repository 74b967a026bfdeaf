"""What an evaluation computes: methods, metrics, rows; and how much of it fits into the time that the user gives.

Times are measured on the first rows. Then the cheapest sacrifice comes first: fewer rows, down to ``ENOUGH``; fewer
steps and sets of the metrics that decide; fewer rows again, down to ``FEWEST``; at last the methods that take longest.
What the user named is never dropped, and no control is.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from assay.catalogue.registry import card, resolve
from assay.core.errors import SpecError
from assay.core.machine import Machine
from assay.core.question import Question
from assay.core.spec import Spec
from assay.engine.artifacts.artifact import Artifact, Block, default_block_size
from assay.engine.artifacts.component import Component
from assay.engine.artifacts.evidence import make_evidence
from assay.engine.artifacts.model import Place
from assay.engine.artifacts.trial import make_trials
from assay.engine.execute.inline import MemoryEngine
from assay.evaluation.defaults import ORDER, SIZE
from assay.report.text import listed

ENOUGH, FEWEST = 32, 16  # rows: with fewer, verdicts are rarely decided
LEAST_METHODS = 4
FIRST, MORE = 1, {"image": 4}  # rows on which times are measured: the second call less the first is the time of rows
MANY = 16  # rows of the second call for other data
SHORT = 1.0  # seconds: where all rows take no longer, one measurement is enough
SAVINGS: tuple[dict[str, dict[str, Any]], ...] = (
    {},
    {ORDER: {"steps": 16}, SIZE: {"sets": 50}},
    {ORDER: {"steps": 8}, SIZE: {"sets": 50, "sizes": 4}},
)
SHARES = (1.0, 0.5, 0.25)  # of the time of these metrics, for each of the savings


@dataclass(frozen=True)
class Item:
    """A method or a metric under its label."""

    label: str
    spec: Spec
    instance: Any = None  # an object that has no spec, or whose spec cannot build it
    named: bool = False  # by the user

    @property
    def is_control(self) -> bool:
        with suppress(SpecError):
            return bool(card("methods", self.spec.name).fact("control", False))
        return False

    def component(self, kind: str) -> Component:
        if self.instance is not None:
            return Component(kind, instance=self.instance)
        return Component(kind, resolve(kind, self.spec))


@dataclass(frozen=True)
class Plan:
    """What is computed."""

    methods: tuple[Item, ...]
    metrics: tuple[Item, ...]
    rows: int
    drawn: bool = False  # rows are drawn at random; False: all rows, or the first ones, as they stand
    estimate: float | None = None  # seconds; None: not measured
    dropped: tuple[str, ...] = ()  # what was left out, in sentences
    first: bool = False  # only the first rows may be taken: attributions were given for these


@dataclass(frozen=True)
class Time:
    """Seconds of a kind of work: for each block, and for each row."""

    block: float = 0.0
    row: float = 0.0

    def total(self, rows: int, block: int) -> float:
        return -(-rows // block) * self.block + rows * self.row

    def __mul__(self, factor: float) -> Time:
        return Time(factor * self.block, factor * self.row)


@dataclass(frozen=True)
class Times:
    """What was measured; by label."""

    once: dict[str, float] = field(default_factory=dict)  # fits
    methods: dict[str, Time] = field(default_factory=dict)
    probes: dict[str, Time] = field(default_factory=dict)  # by metric, shared by all methods
    judging: dict[str, Time] = field(default_factory=dict)  # by metric, for each method

    def total(self, plan: Plan, block: int, share: float) -> float:
        """Seconds of one core; the metrics that decide take ``share`` of their time."""
        rows = plan.rows
        judging = sum(self._of(self.judging, metric, share).total(rows, block) for metric in plan.metrics)
        probing = sum(self._of(self.probes, metric, share).total(rows, block) for metric in plan.metrics)
        return probing + sum(self.method(item, rows, block) + judging for item in plan.methods)

    def method(self, item: Item, rows: int, block: int) -> float:
        return self.once.get(item.label, 0.0) + self.methods.get(item.label, Time()).total(rows, block)

    def _of(self, times: dict[str, Time], metric: Item, share: float) -> Time:
        return times.get(metric.label, Time()) * (
            share if metric.spec.name in (ORDER, SIZE) and not metric.named else 1.0
        )


def fitted(wanted: Plan, place: Place, kind: str, budget: float | None, workers: int, machine: Machine) -> Plan:
    """The plan, made smaller where it would take longer than ``budget`` seconds on so many workers. The rows of a plan
    are the most that there are."""
    block = default_block_size(kind)
    if budget is None:
        return wanted
    began = time.perf_counter()
    with _announced():
        times = measured(wanted, place, machine, budget / 4, MORE.get(kind, MANY))
    left = max(0.0, budget - (time.perf_counter() - began)) * max(1, workers)
    smaller, rows, share = wanted, 0, 1.0
    for saving, share in zip(SAVINGS, SHARES, strict=True):
        smaller = replace(wanted, metrics=tuple(_cheaper(metric, saving) for metric in wanted.metrics))
        rows = _most_rows(times, smaller, block, left, share)
        if rows >= min(ENOUGH, wanted.rows):
            break
    dropped: list[str] = []
    droppable = [item for item in wanted.methods if not (item.named or item.is_control)]
    while rows < min(FEWEST, wanted.rows) and len(droppable) > LEAST_METHODS:
        slowest = max(droppable, key=lambda item: times.method(item, FEWEST, block))
        droppable.remove(slowest)
        dropped.append(slowest.label)
        smaller = replace(smaller, methods=tuple(item for item in smaller.methods if item is not slowest))
        rows = _most_rows(times, smaller, block, left, share)
    said = [f"{listed(dropped)}, for lack of time"] if dropped else []
    rows = max(rows, min(FEWEST, wanted.rows))
    smaller = replace(smaller, rows=rows, dropped=(*wanted.dropped, *said))
    return _with_rows(wanted, smaller, times, block, share, workers)


@contextmanager
def _announced() -> Iterator[None]:
    """Says what takes so long, if it does."""
    timer = threading.Timer(SHORT, lambda: print("Measuring how long the methods take.", file=sys.stderr, flush=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _with_rows(wanted: Plan, plan: Plan, times: Times, block: int, share: float, workers: int) -> Plan:
    fewer = plan.rows < wanted.rows
    estimate = times.total(plan, block, share) / max(1, workers)
    plan = replace(plan, drawn=fewer and not plan.first, estimate=estimate)
    said = list(plan.dropped)
    if fewer:
        how = "drawn at random" if plan.drawn else "the first ones"
        said.append(f"{wanted.rows - plan.rows} of {wanted.rows} rows, for lack of time; the others were {how}")
    if share < 1:
        said.append("some steps and sets of the metrics that decide")
    return replace(plan, dropped=tuple(said))


def _most_rows(times: Times, plan: Plan, block: int, limit: float, share: float) -> int:
    """The most rows that take at most ``limit`` seconds; 0 where not even one does."""
    low, high = 0, plan.rows
    while low < high:
        middle = (low + high + 1) // 2
        if times.total(replace(plan, rows=middle), block, share) <= limit:
            low = middle
        else:
            high = middle - 1
    return low


def _cheaper(metric: Item, saving: dict[str, dict[str, Any]]) -> Item:
    changed = {} if metric.named else saving.get(metric.spec.name, {})
    if not changed:
        return metric
    instance = None if metric.instance is None else replace(metric.instance, **changed)
    return replace(metric, spec=metric.spec.replace(**changed), instance=instance)


def measured(plan: Plan, place: Place, machine: Machine, limit: float, count: int) -> Times:
    """Times on the first row, then on ``count`` rows, unless all rows are quick or these few take longer than
    ``limit`` seconds."""
    times = _times_on(plan, place, machine, FIRST)
    spent = sum(time.row for group in (times.methods, times.probes, times.judging) for time in group.values())
    if spent * plan.rows < SHORT or spent * count > limit or plan.rows < 2 * count:
        return times
    more = _times_on(plan, place, machine, count)

    def refined(first: dict[str, Time], second: dict[str, Time]) -> dict[str, Time]:
        return {label: _line(one.row, second[label].row * count, count) for label, one in first.items()}

    return Times(
        times.once,
        refined(times.methods, more.methods),
        refined(times.probes, more.probes),
        refined(times.judging, more.judging),
    )


def _line(first: float, second: float, count: int) -> Time:
    """From the seconds of one row and of ``count`` rows. A first call includes work that is done once, so that a row
    is taken to cost something in any case."""
    row = max(second - first, second / 8) / (count - FIRST)
    return Time(max(0.0, second - count * row), row)


def _times_on(plan: Plan, place: Place, machine: Machine, rows: int) -> Times:
    engine, block = MemoryEngine(machine), (Block(0, rows),)
    warm = make_trials(place, Component("methods", resolve("methods", Spec("random_map"))), Question(), block)
    engine.realise(warm)  # builds the model
    times = Times()

    def wall(artifact: Artifact) -> float:
        engine.realise([artifact])
        return float(engine[artifact].cost.get("wall", 0.0))

    trials = {item.label: make_trials(place, item.component("methods"), Question(), block)[0] for item in plan.methods}
    for label, trial in trials.items():
        for fit in trial.fit.as_need:
            times.once[label] = wall(fit)
        times.methods[label] = Time(row=wall(trial) / rows)
    answered = next((trial for trial in trials.values() if engine[trial].status == "ok"), warm[0])
    for item in plan.metrics:
        evidence = make_evidence(answered, item.component("metrics"))
        if evidence.probe is not None:
            times.probes[item.label] = Time(row=wall(evidence.probe) / rows)
        times.judging[item.label] = Time(row=wall(evidence) / rows)
    return times
