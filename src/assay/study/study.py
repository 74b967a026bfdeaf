"""A study: environments x methods x metrics x seeds, read from a TOML file.

    title = "Which baseline?"
    seeds = [0, 1, 2]
    samples = 32
    environments = ["color_count(side=64)"]
    methods = [
        "gradient",
        { use = "integrated_gradients", label = "IG*", question = { baseline = "true" } },
    ]
    metrics = ["f1(sign='positive')", "insertion"]

An item is a spec, or a table with ``use`` and more. Every mistake in the file is reported at once.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.core.errors import AssayError, SpecError, StudyError, suggest
from assay.core.question import Question
from assay.core.registry import card, resolve
from assay.core.spec import Spec

SAMPLES = 16
BLOCK = 8


@dataclass(frozen=True)
class Entry:
    """One component of a study: what it is, what it is called there, and where it applies."""

    spec: Spec  # resolved: every default filled in
    label: str
    question: Question = Question()
    only: tuple[str, ...] = ()  # environment names or labels; empty = everywhere
    samples: int = SAMPLES  # environments: how many samples are evaluated
    block: int = BLOCK  # environments: samples per unit of work

    def applies(self, environment: Entry) -> bool:
        return not self.only or environment.spec.name in self.only or environment.label in self.only

    def to_json(self) -> dict[str, Any]:
        question = self.question.to_json()
        return {"spec": str(self.spec), "label": self.label, "question": question, "only": list(self.only)}


@dataclass(frozen=True)
class Faithfulness:
    """The faithfulness test at gamma: a method is refuted by an environment where the metric falls below gamma."""

    metric: str  # label of a metric
    gamma: float = 0.5
    require: tuple[str, ...] = ()  # labels of methods that must not be refuted, else the run ends with exit code 1


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

    @classmethod
    def load(cls, path: Path) -> Study:
        """Read and resolve a study file; StudyError lists everything that is wrong with it."""
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
        except tomllib.TOMLDecodeError as error:
            raise StudyError(str(path), [f"not valid TOML: {error}"]) from None
        except (OSError, UnicodeDecodeError) as error:
            raise AssayError(f"cannot read study file {path}: {error}") from None
        return read(table, path.stem, str(path))

    def narrowed(self, limit: int | None, seeds: tuple[int, ...] | None) -> Study:
        """The same study on fewer samples or other seeds; nothing that was computed is lost by it."""
        environments = self.environments
        if limit is not None:
            environments = tuple(replace(entry, samples=min(limit, entry.samples)) for entry in environments)
        return replace(self, environments=environments, seeds=self.seeds if seeds is None else seeds)

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
            "faithfulness": [
                {"metric": test.metric, "gamma": test.gamma, "require": list(test.require)}
                for test in self.faithfulness
            ],
        }


_KNOWN = ("title", "seeds", "data_seed", "samples", "block", "gallery", "question")
_LISTS = ("environments", "methods", "metrics")


def read(table: Mapping[str, Any], name: str, where: str = "study") -> Study:
    """A study from a parsed table; StudyError lists everything that is wrong with it."""
    reader = _Reader(table)
    study = reader.study(name)
    if reader.problems:
        raise StudyError(where, reader.problems)
    return study


def _higher_is_better(metrics: tuple[Entry, ...], label: str) -> bool:
    spec = next(entry.spec for entry in metrics if entry.label == label)
    return bool(card("metrics", spec.name).fact("higher_is_better", True))


class _Reader:
    """Reads a table and collects problems instead of stopping at the first."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self.table = table
        self.problems: list[str] = []

    def study(self, name: str) -> Study:
        known = (*_KNOWN, *_LISTS, "faithfulness")
        self.problems += [f"unknown key '{key}'.{suggest(key, known)}" for key in self.table if key not in known]
        samples, block = self.integer("samples", SAMPLES), self.integer("block", BLOCK)
        common = self.question(self.table.get("question", {}), "question")
        lists = {kind: tuple(self.entries(kind, samples, block, common)) for kind in _LISTS}
        self.unknown_places(lists)
        return Study(
            name,
            **lists,
            title=str(self.table.get("title", "")),
            seeds=self.seeds(),
            data_seed=self.table.get("data_seed"),
            gallery=self.integer("gallery", 4, least=0),
            faithfulness=tuple(self.tests(lists)),
        )

    def integer(self, key: str, default: int, table: Mapping[str, Any] | None = None, least: int = 1) -> int:
        value = (self.table if table is None else table).get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            self.problems.append(f"{key} must be a whole number of at least {least}, not {value!r}")
            return default
        return value

    def seeds(self) -> tuple[int, ...]:
        seeds = self.table.get("seeds", [0])
        whole = isinstance(seeds, list) and all(isinstance(seed, int) and not isinstance(seed, bool) for seed in seeds)
        if not whole or not seeds or len(set(seeds)) < len(seeds):
            self.problems.append(f"seeds must be a list of different whole numbers, not {seeds!r}")
            return (0,)
        return tuple(seeds)

    def question(self, table: Any, where: str) -> Question:
        if not isinstance(table, Mapping):
            self.problems.append(f"{where} must be a table such as {{ baseline = 'true' }}, not {table!r}")
            return Question()
        try:
            return Question.from_table(table)
        except (SpecError, TypeError) as error:
            self.problems.append(f"{where}: {error}")
            return Question()

    def entries(self, kind: str, samples: int, block: int, common: Question) -> Iterator[Entry]:
        items = self.table.get(kind, [])
        if not isinstance(items, list) or not items:
            self.problems.append(f"{kind} must be a list with at least one item")
            return
        seen: set[str] = set()
        for number, item in enumerate(items, 1):
            entry = self.entry(kind, f"{kind} item {number}", item, samples, block, common)
            if entry is None:
                continue
            if entry.label in seen:
                self.problems.append(f"{kind} item {number}: label '{entry.label}' is used twice; give one a label")
            seen.add(entry.label)
            yield entry

    def entry(self, kind: str, where: str, item: Any, samples: int, block: int, common: Question) -> Entry | None:
        table = {"use": item} if isinstance(item, str) else item
        if not isinstance(table, Mapping) or not isinstance(table.get("use"), str):
            self.problems.append(f'{where}: write a spec in quotes, or a table with use = "..."')
            return None
        known = ("use", "label", *(("samples", "block") if kind == "environments" else ("only",)))
        known = (*known, "question") if kind == "methods" else known
        self.problems += [f"{where}: unknown key '{key}'.{suggest(key, known)}" for key in table if key not in known]
        question = self.question(table.get("question", {}), f"{where}: question").over(common)
        try:
            spec = resolve(kind, Spec.parse(table["use"]))
        except SpecError as error:
            self.problems.append(f"{where}: {error}")
            return None
        return Entry(
            spec,
            str(table.get("label", table["use"])),
            question if kind == "methods" else Question(),
            tuple(table.get("only", ())),
            self.integer("samples", samples, table),
            self.integer("block", block, table),
        )

    def unknown_places(self, lists: Mapping[str, tuple[Entry, ...]]) -> None:
        places = {name for entry in lists["environments"] for name in (entry.spec.name, entry.label)}
        for entry in (*lists["methods"], *lists["metrics"]):
            for place in entry.only:
                if place not in places:
                    self.problems.append(f"'{entry.label}': only = '{place}' is no environment of this study.")

    def tests(self, lists: Mapping[str, tuple[Entry, ...]]) -> Iterator[Faithfulness]:
        labels = {kind: [entry.label for entry in entries] for kind, entries in lists.items()}
        for table in self.table.get("faithfulness", []):
            metric, require = table.get("metric", ""), tuple(table.get("require", ()))
            if metric not in labels["metrics"]:
                self.problems.append(f"faithfulness: no metric '{metric}'.{suggest(metric, labels['metrics'])}")
            elif not _higher_is_better(lists["metrics"], metric):
                self.problems.append(
                    f"faithfulness: '{metric}' is better when lower; the test needs a floor to stay above"
                )
            self.problems += [f"faithfulness: no method '{name}'" for name in require if name not in labels["methods"]]
            yield Faithfulness(metric, float(table.get("gamma", 0.5)), require)
