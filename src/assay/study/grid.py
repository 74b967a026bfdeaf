"""The grid: the cells of a study, each one method in one place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assay.study import keys
from assay.study.keys import Block, Place
from assay.study.study import Entry, Study


@dataclass(frozen=True)
class Cell:
    """One method in one environment with one seed."""

    environment: Entry
    method: Entry
    seed: int
    place: Place

    @property
    def blocks(self) -> tuple[Block, ...]:
        return keys.blocks(self.environment.samples, self.environment.block)

    def trial(self, block: Block) -> str:
        return keys.trial_key(self.place, self.method.spec, self.method.question, block)

    def fit(self) -> str:
        return keys.fit_key(self.place, self.method.spec, self.method.question)

    def probe(self, metric: Entry, block: Block) -> str:
        return keys.probe_key(self.place, metric.spec, self.method.question.target, block)

    def prepared(self, metric: Entry) -> str:
        return keys.prepared_key(self.place, self.method.spec, self.method.question, metric.spec)

    def evidence(self, metric: Entry, block: Block) -> str:
        return keys.evidence_key(self.trial(block), metric.spec)


def cells(study: Study, dtype: str = "float32") -> Iterator[Cell]:
    """Every method in every environment it is meant for, seed by seed."""
    for environment in study.environments:
        for seed in study.seeds:
            for method in study.methods:
                if method.applies(environment):
                    yield Cell(environment, method, seed, place(study, environment, seed, dtype))


def place(study: Study, environment: Entry, seed: int, dtype: str = "float32") -> Place:
    return Place(environment.spec, seed, seed if study.data_seed is None else study.data_seed, dtype)


def metrics(study: Study, environment: Entry) -> tuple[Entry, ...]:
    return tuple(metric for metric in study.metrics if metric.applies(environment))
