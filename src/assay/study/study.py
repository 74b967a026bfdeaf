"""A study: environments x methods x metrics x seeds, as objects. ``study/file.py`` reads it from TOML."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from assay.core.errors import AssayError
from assay.core.floors import Check, Rule
from assay.core.question import Question
from assay.core.spec import Spec

SAMPLES = 16
BLOCK = 8
# What a model of somebody's own is tried with, unless they say otherwise.
METHODS = ["gradient", "input_x_gradient", "integrated_gradients", "smoothed(of=gradient())", "random_map"]
METRICS = ["insertion", "deletion", "sensitivity_n", "single_deletion"]


@dataclass(frozen=True)
class Entry:
    """One component of a study: what it is, what it is called there, and where it applies."""

    spec: Spec  # resolved: every default filled in
    label: str
    question: Question = Question()
    only: tuple[str, ...] = ()  # environment names or labels; empty = everywhere
    samples: int = SAMPLES  # environments: how many samples are evaluated
    block: int = BLOCK  # environments: samples per unit of work
    rows: int | None = None  # environments: how many there are, where that is known; the last block ends there

    def applies(self, environment: Entry) -> bool:
        return not self.only or environment.spec.name in self.only or environment.label in self.only

    def to_json(self) -> dict[str, Any]:
        question = self.question.to_json()
        return {"spec": str(self.spec), "label": self.label, "question": question, "only": list(self.only)}


@dataclass(frozen=True)
class Faithfulness:
    """The faithfulness test at gamma: a method is refuted by an environment where a metric falls below its floor."""

    metric: str  # label of a metric
    gamma: float = 0.5
    require: tuple[str, ...] = ()  # labels of methods that must not be refuted, else the run ends with exit code 1
    checks: tuple[Check, ...] = ()  # what methods are held to: the metric, and with F1 the signs of the truth
    by: tuple[tuple[str, str], ...] = ()  # methods that are judged by a metric of their own: labels of both
    rule: Rule = "interval"  # what decides: the interval, or the value alone (point, as in the paper)
    strict: bool = False  # a required method must not be undecided either

    def to_json(self) -> dict[str, Any]:
        return {
            "metric": self.metric,
            "gamma": self.gamma,
            "require": list(self.require),
            "checks": [check.to_json() for check in self.checks],
            "by": dict(self.by),
            "rule": self.rule,
            "strict": self.strict,
        }


@dataclass(frozen=True)
class Study:
    """A grid of questions."""

    name: str
    environments: tuple[Entry, ...]
    methods: tuple[Entry, ...]
    metrics: tuple[Entry, ...]
    title: str = ""
    seeds: tuple[int, ...] = (0,)
    data_seed: int | None = None  # None: each seed has samples of its own
    gallery: int = 4  # samples per environment whose inputs, truth and attributions the report shows
    faithfulness: tuple[Faithfulness, ...] = ()

    def narrowed(self, limit: int | None, seeds: tuple[int, ...] | None) -> Study:
        """The same study on fewer samples or other seeds; nothing that was computed is lost by it."""
        environments = self.environments
        if seeds is not None and (not seeds or len(set(seeds)) < len(seeds)):
            raise AssayError(f"seeds {list(seeds)}: give at least one, and none twice.")
        if limit is not None and limit < 1:
            raise AssayError(f"a limit of {limit} samples leaves nothing to evaluate: give at least 1.")
        if limit is not None:
            environments = tuple(replace(entry, samples=min(limit, entry.samples)) for entry in environments)
        return replace(self, environments=environments, seeds=self.seeds if seeds is None else seeds)

    def cells(self) -> Iterator[tuple[Entry, Entry, int]]:
        """Every method in every environment it is meant for, seed by seed."""
        for environment in self.environments:
            applicable = [method for method in self.methods if method.applies(environment)]
            yield from ((environment, method, seed) for seed in self.seeds for method in applicable)

    def judged_by(self, environment: Entry) -> tuple[Entry, ...]:
        """The metrics that are meant for an environment."""
        return tuple(metric for metric in self.metrics if metric.applies(environment))

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "title": self.title,
            "seeds": list(self.seeds),
            "data_seed": self.data_seed,
            "gallery": self.gallery,
            "environments": [
                {**entry.to_json(), "samples": entry.samples, "block": entry.block} for entry in self.environments
            ],
            "methods": [entry.to_json() for entry in self.methods],
            "metrics": [entry.to_json() for entry in self.metrics],
            "faithfulness": [test.to_json() for test in self.faithfulness],
        }
