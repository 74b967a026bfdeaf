"""Reading a study from a TOML file.

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
from pathlib import Path
from typing import Any, TypeGuard

from assay.core.errors import AssayError, SpecError, StudyError, suggest
from assay.core.question import Question
from assay.core.registry import resolve
from assay.core.spec import Spec
from assay.study.study import BLOCK, SAMPLES, Entry, Study
from assay.study.tested import TestReader


def load(path: Path) -> Study:
    """Read and resolve a study file; StudyError lists everything that is wrong with it."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise StudyError(str(path), [f"not valid TOML: {error}"]) from None
    except (OSError, UnicodeDecodeError) as error:
        raise AssayError(f"cannot read study file {path}: {error}") from None
    return read(table, path.stem, str(path))


_KNOWN = ("title", "seeds", "data_seed", "samples", "block", "gallery", "question")
_LISTS = ("environments", "methods", "metrics")


def read(table: Mapping[str, Any], name: str, where: str = "study") -> Study:
    """A study from a parsed table; StudyError lists everything that is wrong with it."""
    reader = _Reader(table)
    study = reader.study(name)
    if reader.problems:
        raise StudyError(where, reader.problems)
    return study


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
        tests = tuple(TestReader(self).tests(self.table.get("faithfulness", []), lists))
        return Study(
            name,
            **lists,
            title=self.text(self.table, "title", "", "title"),
            seeds=self.seeds(),
            data_seed=self.data_seed(),
            gallery=self.integer("gallery", 4, least=0),
            faithfulness=tests,
        )

    def integer(self, key: str, default: int, table: Mapping[str, Any] | None = None, least: int = 1) -> int:
        value = (self.table if table is None else table).get(key, default)
        if not _is_whole(value) or value < least:
            self.problems.append(f"{key} must be a whole number of at least {least}, not {value!r}")
            return default
        return value

    def seeds(self) -> tuple[int, ...]:
        seeds = self.table.get("seeds", [0])
        whole = isinstance(seeds, list) and all(_is_whole(seed) for seed in seeds)
        if not whole or not seeds or len(set(seeds)) < len(seeds):
            self.problems.append(f"seeds must be a list of different whole numbers, not {seeds!r}")
            return (0,)
        return tuple(seeds)

    def data_seed(self) -> int | None:
        seed = self.table.get("data_seed")
        if seed is not None and not _is_whole(seed):
            self.problems.append(f"data_seed must be a whole number, not {seed!r}")
            return None
        return seed

    def text(self, table: Mapping[str, Any], key: str, default: str, where: str) -> str:
        value = table.get(key, default)
        if not isinstance(value, str) or (key in table and not value.strip()):
            self.problems.append(f"{where} must be a text, not {value!r}")
            return default
        return value

    def texts(self, table: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
        """A list of texts; one text where a list belongs is a problem, not a list of letters."""
        value = table.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self.problems.append(f"{where}: {key} must be a list of texts, not {value!r}")
            return ()
        return tuple(value)

    def question(self, table: Any, where: str) -> Question:
        if not isinstance(table, Mapping):
            self.problems.append(f"{where} must be a table such as {{ baseline = 'true' }}, not {table!r}")
            return Question()
        try:
            return Question.from_table(table)
        except SpecError as error:
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
            label = " ".join(entry.label.split())  # in print, spaces are spaces
            if label in seen:
                self.problems.append(f"{kind} item {number}: label '{label}' is used twice; give one a label")
            seen.add(label)
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
            self.text(table, "label", table["use"], f"{where}: label"),
            question if kind == "methods" else Question(),
            self.texts(table, "only", where),
            self.integer("samples", samples, table),
            self.integer("block", block, table),
        )

    def unknown_places(self, lists: Mapping[str, tuple[Entry, ...]]) -> None:
        places = {name for entry in lists["environments"] for name in (entry.spec.name, entry.label)}
        for entry in (*lists["methods"], *lists["metrics"]):
            for place in entry.only:
                if place not in places:
                    self.problems.append(f"'{entry.label}': only = '{place}' is no environment of this study.")


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
