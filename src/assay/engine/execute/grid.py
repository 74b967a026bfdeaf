"""The artifacts of a study: the trials, evidence and scores of its grid, and the samples of its gallery."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

from assay.engine.artifacts.artifact import Artifact, split_blocks
from assay.engine.artifacts.component import Component
from assay.engine.artifacts.evidence import EvidenceArtifact, make_evidence
from assay.engine.artifacts.model import Place, make_place
from assay.engine.artifacts.samples import SamplesArtifact
from assay.engine.artifacts.score import ScoreArtifact
from assay.engine.artifacts.trial import TrialArtifact, make_trials
from assay.studies.study import Entry, Study


@dataclass(frozen=True, eq=False)
class Series:
    """One method in one environment with one seed."""

    environment: Entry
    method: Entry
    seed: int
    trials: tuple[TrialArtifact, ...]  # block by block
    evidence: Mapping[str, tuple[EvidenceArtifact, ...]]  # by the metric's label, block by block

    def to_json(self) -> dict[str, Any]:
        """Keys with their labels, for export and the report."""
        return {
            "environment": self.environment.label,
            "method": self.method.label,
            "seed": self.seed,
            "samples": self.environment.samples,
            "fit": self.trials[0].fit.key,
            "blocks": [{"start": trial.block.start, "trial": trial.key} for trial in self.trials],
            "evidence": {metric: [block.key for block in blocks] for metric, blocks in self.evidence.items()},
            "probes": {
                metric: [block.probe.key for block in blocks if block.probe]
                for metric, blocks in self.evidence.items()
                if blocks[0].probe
            },
        }


@dataclass(frozen=True, eq=False)
class ScoreRow:
    """One method in one environment by one metric, over all seeds: a line of the result."""

    environment: str
    method: str
    metric: str
    score: ScoreArtifact

    def to_json(self) -> dict[str, str]:
        key = self.score.key
        return {"environment": self.environment, "method": self.method, "metric": self.metric, "key": key}


@dataclass(frozen=True, eq=False)
class Grid:
    """All artifacts that a study asks for."""

    series: tuple[Series, ...]
    rows: tuple[ScoreRow, ...]
    gallery: Mapping[str, SamplesArtifact]  # by the environment's label

    @cached_property
    def wanted(self) -> tuple[Artifact, ...]:
        """Block by block, each attribution with its evidence; scores last."""
        return (*self.gallery.values(), *self._blocks(), *(row.score for row in self.rows))

    def _blocks(self) -> Iterator[Artifact]:
        for series in self.series:
            for block, trial in enumerate(series.trials):
                yield trial
                yield from (evidence[block] for evidence in series.evidence.values())


Objects = Mapping[tuple[str, str], Any]  # by kind and label: components that exist in this process only


def grid(study: Study, dtype: str = "float32", objects: Objects = MappingProxyType({})) -> Grid:
    """The artifacts of a study. Equal components are one object: each is read once, and its artifacts are shared. An
    entry with an object stands for that object, whatever its spec says."""
    components: dict[tuple[str, str], Component] = {
        (kind, f"object {label}"): Component(kind, instance=instance) for (kind, label), instance in objects.items()
    }
    places: dict[tuple[str, int], Place] = {}

    def component(kind: str, entry: Entry) -> Component:
        if (kind, entry.label) in objects:
            return components[kind, f"object {entry.label}"]
        return components.setdefault((kind, str(entry.spec)), Component(kind, entry.spec))

    def place_of(entry: Entry, seed: int) -> Place:
        data_seed = seed if study.data_seed is None else study.data_seed
        environment = component("environments", entry)
        return places.setdefault((environment.identity, seed), make_place(environment, seed, data_seed, dtype))

    def make_series(environment: Entry, method: Entry, seed: int) -> Series:
        blocks = split_blocks(environment.samples, environment.block, environment.rows)
        trials = make_trials(place_of(environment, seed), component("methods", method), method.question, blocks)
        evidence = {
            metric.label: tuple(make_evidence(trial, component("metrics", metric)) for trial in trials)
            for metric in study.metrics_for(environment)
        }
        return Series(environment, method, seed, trials, evidence)

    all_series = tuple(make_series(*coordinates) for coordinates in study.series())
    pictured = study.environments if study.pictured else ()
    gallery = {entry.label: SamplesArtifact(place_of(entry, study.seeds[0]), study.pictured) for entry in pictured}
    return Grid(all_series, tuple(_score_rows(all_series)), gallery)


def _score_rows(all_series: tuple[Series, ...]) -> Iterator[ScoreRow]:
    groups: dict[tuple[str, str], list[Series]] = {}
    for series in all_series:
        groups.setdefault((series.environment.label, series.method.label), []).append(series)
    for (environment, method), group in groups.items():
        for metric in group[0].evidence:
            evidence = tuple(series.evidence[metric] for series in group)
            component = evidence[0][0].metric
            yield ScoreRow(
                environment, method, metric, ScoreArtifact(component, evidence, group[0].environment.samples)
            )
