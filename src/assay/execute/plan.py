"""The plan: which jobs a study still needs, given what a store has. Resuming is set difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from assay.core.question import Question
from assay.core.registry import card
from assay.core.spec import Spec, walk
from assay.execute.jobs import FitJob, Job, Judging, ModelJob, PrepareJob, ProbeJob, SamplesJob, TrialJob
from assay.store.store import Store
from assay.study import grid, keys
from assay.study.grid import Cell
from assay.study.keys import Block, Place
from assay.study.study import Entry, Study


@dataclass(frozen=True)
class Plan:
    """Jobs in an order in which every job comes after what it needs."""

    jobs: tuple[Job, ...]
    trials: int  # blocks of attribution in the whole study
    reused: int  # of these, how many are in the store with all their evidence

    @property
    def total(self) -> int:
        """How many records the jobs make."""
        return sum(self.kinds.values())

    @property
    def kinds(self) -> Counter[str]:
        """How many records of each kind the jobs make."""
        return Counter(kind for job in self.jobs for kind, _ in job.makes)

    def counts(self) -> dict[str, int]:
        """By kind; a trial whose attributions are known is a judging."""
        return dict(Counter(_kind(job) for job in self.jobs))


def plan(study: Study, store: Store, dtype: str = "float32") -> Plan:
    """What is missing."""
    planner = _Planner(store)
    for environment in study.environments:
        for seed in study.seeds[:1] if study.gallery else ():
            planner.samples(grid.place(study, environment, seed, dtype), study.gallery)
    total = reused = 0
    for cell in grid.cells(study, dtype):
        wanted = grid.metrics(study, cell.environment)
        for block in cell.blocks:
            total += 1
            reused += not planner.trial(cell, block, wanted)
    return Plan(tuple(planner.ordered()), total, reused)


class _Planner:
    """Collects jobs, each once, prerequisites with the first job that needs them."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.jobs: dict[str, Job] = {}

    def ordered(self) -> Iterator[Job]:
        # Shared things first: they open the way for many others. The sort is stable.
        rank = {ModelJob: 0, SamplesJob: 1, FitJob: 1, ProbeJob: 1, PrepareJob: 2, TrialJob: 3}
        return iter(sorted(self.jobs.values(), key=lambda job: rank[type(job)]))

    def missing(self, key: str) -> bool:
        return key not in self.jobs and not self.store.has(key)

    def trial(self, cell: Cell, block: Block, metrics: tuple[Entry, ...]) -> bool:
        """Plan one block; False when the store has all of it."""
        key = cell.trial(block)
        record = self.store.get(key)
        if record is not None and record.status == "skipped":
            return False
        pairs = [(metric, cell.evidence(metric, block)) for metric in metrics]
        known = record is not None and record.status == "ok" and self.store.has(key)
        missing = [(metric, evidence) for metric, evidence in pairs if not self.store.has(evidence)]
        if known and not missing:
            return False
        model = self.model(cell.place)
        question = cell.method.question
        again = any(_asks_the_method(metric.spec) for metric, _ in missing)
        fit = self.fit(cell, model) if again or not known else ""
        before = self.jobs.get(key)  # the same place and method under another label, perhaps with other metrics
        judgings: tuple[Judging, ...] = ()
        if isinstance(before, TrialJob):
            judgings, fit = before.judgings, fit or before.fit
        planned = {judging.key for judging in judgings}
        judgings += tuple(
            Judging(
                found,
                metric.spec,
                self.probe(cell, metric, block, model),
                self.prepared(cell, metric, model),
                _asks_the_method(metric.spec),
            )
            for metric, found in missing
            if found not in planned
        )
        self.jobs[key] = TrialJob(key, cell.place, model, cell.method.spec, question, fit, block, judgings, known)
        return True

    def model(self, place: Place) -> str:
        if "train" not in card("environments", place.environment.name).calls:
            return ""
        if self.missing(place.setting):
            self.jobs[place.setting] = ModelJob(place.setting, place)
        return place.setting

    def fit(self, cell: Cell, model: str) -> str:
        if not _fits(cell.method.spec):
            return ""
        key = cell.fit()
        if self.missing(key):
            self.jobs[key] = FitJob(key, cell.place, model, cell.method.spec, cell.method.question)
        return key

    def probe(self, cell: Cell, metric: Entry, block: Block, model: str) -> str:
        if "probe" not in card("metrics", metric.spec.name).calls:
            return ""
        key = cell.probe(metric, block)
        if self.missing(key):
            question = Question(target=cell.method.question.target)
            self.jobs[key] = ProbeJob(key, cell.place, model, metric.spec, question, block)
        return key

    def prepared(self, cell: Cell, metric: Entry, model: str) -> str:
        if "prepare" not in card("metrics", metric.spec.name).calls:
            return ""
        key, question = cell.prepared(metric), cell.method.question
        if self.missing(key):
            fit = self.fit(cell, model)
            self.jobs[key] = PrepareJob(key, cell.place, model, cell.method.spec, question, fit, metric.spec)
        return key

    def samples(self, place: Place, count: int) -> None:
        key = keys.samples_key(place, count)
        if self.missing(key):
            self.jobs[key] = SamplesJob(key, place, self.model(place), count)


def _kind(job: Job) -> str:
    known = isinstance(job, TrialJob) and job.known
    return "judging" if known else type(job).__name__.removesuffix("Job").lower()


def _asks_the_method(metric: Spec) -> bool:
    """Always, or where its parameter ``again`` says so."""
    return "method" in card("metrics", metric.name).fact("needs", ()) or metric.get("again") is True


def _fits(method: Spec) -> bool:
    """A method has something to fit when it, or a method inside it, defines ``fit``.

    Where ``fit`` is a property, a combinator has it if a method inside does; another method may have it.
    """
    found = card("methods", method.name)
    inner: list[Spec] = []
    for _, value in method.params:
        walk(value, inner.append)
    if "fit" in found.calls or any(_fits(spec) for spec in inner):
        return True
    return "fit" in found.perhaps and not inner
