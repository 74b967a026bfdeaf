"""The artifacts of a study: trials, evidence and scores of its grid, and the samples of its gallery."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from assay.artifacts.artifact import Artifact, blocks
from assay.artifacts.component import Component
from assay.artifacts.evidence import EvidenceArtifact, evidence
from assay.artifacts.model import Place, place
from assay.artifacts.samples import SamplesArtifact
from assay.artifacts.score import ScoreArtifact
from assay.artifacts.trial import TrialArtifact, trials
from assay.study.study import Entry, Study


@dataclass(frozen=True, eq=False)
class Cell:
    """One method in one environment with one seed."""

    environment: Entry
    method: Entry
    seed: int
    trials: tuple[TrialArtifact, ...]  # block by block
    evidence: Mapping[str, tuple[EvidenceArtifact, ...]]  # by the metric's label, block by block

    def to_json(self) -> dict[str, Any]:
        """Keys under their labels: what export and the report read."""
        return {
            "environment": self.environment.label,
            "method": self.method.label,
            "seed": self.seed,
            "samples": self.environment.samples,
            "fit": self.trials[0].fit.key,
            "blocks": [{"start": trial.block.start, "trial": trial.key} for trial in self.trials],
            "evidence": {metric: [block.key for block in blocks] for metric, blocks in self.evidence.items()},
        }


@dataclass(frozen=True, eq=False)
class Row:
    """One line of a study's result."""

    environment: str
    method: str
    metric: str
    score: ScoreArtifact

    def to_json(self) -> dict[str, str]:
        key = self.score.key
        return {"environment": self.environment, "method": self.method, "metric": self.metric, "key": key}


@dataclass(frozen=True, eq=False)
class Grid:
    """All that a study wants to know."""

    cells: tuple[Cell, ...]
    rows: tuple[Row, ...]
    gallery: Mapping[str, SamplesArtifact]  # by the environment's label

    @cached_property
    def wanted(self) -> tuple[Artifact, ...]:
        blocks = (block for cell in self.cells for found in cell.evidence.values() for block in found)
        trials = (trial for cell in self.cells for trial in cell.trials)
        return (*self.gallery.values(), *trials, *blocks, *(row.score for row in self.rows))


def grid(study: Study, dtype: str = "float32") -> Grid:
    """Components are read once; equal ones are one object, so that their parts are shared."""
    components: dict[tuple[str, str], Component] = {}
    places: dict[tuple[str, int], Place] = {}

    def component(kind: str, entry: Entry) -> Component:
        return components.setdefault((kind, str(entry.spec)), Component(kind, entry.spec))

    def place_of(entry: Entry, seed: int) -> Place:
        data_seed = seed if study.data_seed is None else study.data_seed
        where = component("environments", entry)
        return places.setdefault((where.identity, seed), place(where, seed, data_seed, dtype))

    def cell(environment: Entry, method: Entry, seed: int) -> Cell:
        cut = blocks(environment.samples, environment.block, environment.rows)
        asked = trials(place_of(environment, seed), component("methods", method), method.question, cut)
        judged = {
            metric.label: tuple(evidence(trial, component("metrics", metric)) for trial in asked)
            for metric in study.judged_by(environment)
        }
        return Cell(environment, method, seed, asked, judged)

    cells = tuple(cell(*part) for part in study.cells())
    shown = study.environments if study.gallery else ()
    gallery = {entry.label: SamplesArtifact(place_of(entry, study.seeds[0]), study.gallery) for entry in shown}
    return Grid(cells, tuple(_rows(cells)), gallery)


def _rows(cells: tuple[Cell, ...]) -> Iterator[Row]:
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.environment.label, cell.method.label), []).append(cell)
    for (environment, method), group in groups.items():
        for metric in group[0].evidence:
            found = tuple(cell.evidence[metric] for cell in group)
            judge = found[0][0].metric
            yield Row(environment, method, metric, ScoreArtifact(judge, found, group[0].environment.samples))
