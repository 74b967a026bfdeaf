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

    [sweep]
    of = "methods"
    parameter = "steps"
    values = [50, 300]

    [full]
    samples = 1000

An item is a spec, or a table with ``use`` and further keys. ``sweep`` varies a parameter (``study/sweep.py``). The keys
of ``full`` replace those of the file at full scale. All mistakes in the file are reported at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeGuard

from assay.catalogue.registry import resolve
from assay.core.errors import SpecError, StudyError, suggest
from assay.core.question import Question
from assay.core.records import printable
from assay.core.spec import Spec
from assay.study.agreement import AgreementReader
from assay.study.faithfulness import TestReader
from assay.study.limits import LARGEST_BLOCK, LARGEST_GALLERY, LONGEST_TEXT, MOST_ITEMS, excesses
from assay.study.study import BLOCK, SAMPLES, Entry, Study
from assay.study.sweep import SweepReader
from assay.study.toml import read_toml


def load(path: Path) -> Study:
    """Read and resolve a study file; StudyError lists all its problems."""
    return read(read_toml(path), path.stem, str(path))


_SINGLE_KEYS = ("title", "seeds", "data_seed", "samples", "block", "gallery", "question")
_LIST_KEYS = ("environments", "methods", "metrics")


def read(table: Mapping[str, Any], name: str, source: str = "study") -> Study:
    """A study from a parsed table; StudyError lists all its problems."""
    if problems := list(islice(excesses(table), MOST_ITEMS)):
        raise StudyError(source, problems)
    as_written, full = {key: value for key, value in table.items() if key != "full"}, table.get("full")
    reader = _Reader(as_written)
    study = reader.study(name)
    if isinstance(full, Mapping) and full:
        full_reader = _Reader({**as_written, **full})
        study = replace(study, full=full_reader.study(name), full_keys=tuple(full))
        reader.problems += [f"full: {problem}" for problem in full_reader.problems if problem not in reader.problems]
    elif "full" in table:
        reader.problems.append(f"full must be a table with keys of the study such as samples = 1000, not {full!r}")
    if reader.problems:
        raise StudyError(source, reader.problems)
    return study


class _Reader:
    """Reads a table and collects problems instead of stopping at the first."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self.table = table
        self.problems: list[str] = []

    def study(self, name: str) -> Study:
        table, allowed = self.table, (*_SINGLE_KEYS, *_LIST_KEYS, "faithfulness", "agreement", "sweep")
        unknown = [key for key in table if key not in allowed]
        keys = (*allowed, *(["full"] if "full" not in table else []))
        self.problems += [f"unknown key '{key}'.{suggest(key, keys)}" for key in unknown[:MOST_ITEMS]]
        samples, block = self.integer("samples", SAMPLES), self.integer("block", BLOCK, most=LARGEST_BLOCK)
        common_question = self.question(table.get("question", {}), "question")
        lists = {kind: tuple(self.entries(kind, samples, block, common_question)) for kind in _LIST_KEYS}
        sweep = SweepReader(self).sweep(table["sweep"], lists) if "sweep" in table else None
        self.check_environments(lists)
        tests = tuple(TestReader(self).tests(table["faithfulness"], lists)) if "faithfulness" in table else ()
        return Study(
            name,
            lists["environments"],
            lists["methods"],
            lists["metrics"],
            title=self.text(table, "title", "", "title"),
            seeds=self.seeds(),
            data_seed=self.data_seed(),
            gallery=self.gallery(lists["environments"]),
            faithfulness=tests,
            sweep=sweep,
            agreement=tuple(AgreementReader(self).agreements(table["agreement"], lists))
            if "agreement" in table
            else (),
        )

    def integer(
        self, key: str, default: int, table: Mapping[str, Any] | None = None, least: int = 1, most: int | None = None
    ) -> int:
        value = (self.table if table is None else table).get(key, default)
        if not _is_whole(value) or value < least:
            self.problems.append(f"{key} must be a whole number of at least {least}, not {value!r}")
            return default
        if most is not None and value > most:
            self.problems.append(f"{key} must be at most {most}, not {value}")
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

    def gallery(self, environments: tuple[Entry, ...]) -> int | tuple[int, ...]:
        """How many samples are drawn, or which."""
        indices = self.table.get("gallery")
        if not isinstance(indices, list):
            return self.integer("gallery", 4, least=0, most=LARGEST_GALLERY)
        whole = all(_is_whole(index) and index >= 0 for index in indices)
        if not whole or not 0 < len(set(indices)) == len(indices) <= LARGEST_GALLERY:
            self.problems.append(
                f"gallery must be a number of samples, or a list of different indices of samples, not {indices!r}"
            )
            return 4
        for entry in environments:
            if max(indices) >= entry.samples:
                self.problems.append(
                    f"gallery: '{entry.label}' has samples 0 to {entry.samples - 1}, and none {max(indices)}"
                )
        return tuple(indices)

    def text(self, table: Mapping[str, Any], key: str, default: str, location: str) -> str:
        value = table.get(key, default)
        if not isinstance(value, str) or (key in table and not value.strip()):
            self.problems.append(f"{location} must be a text, not {value!r}")
            return default
        return printable(value, LONGEST_TEXT)

    def texts(self, table: Mapping[str, Any], key: str, location: str) -> tuple[str, ...]:
        """A list of texts. A single text is a problem: it is not read as a list of letters."""
        value = table.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self.problems.append(f"{location}: {key} must be a list of texts, not {value!r}")
            return ()
        return tuple(printable(item, LONGEST_TEXT) for item in value)

    def question(self, table: Any, location: str) -> Question:
        if not isinstance(table, Mapping):
            self.problems.append(f"{location} must be a table such as {{ baseline = 'true' }}, not {table!r}")
            return Question()
        try:
            return Question.from_table(table)
        except SpecError as error:
            self.problems.append(f"{location}: {error}")
            return Question()

    def entries(self, kind: str, samples: int, block: int, common_question: Question) -> Iterator[Entry]:
        items = self.table.get(kind, [])
        if not isinstance(items, list) or not items:
            self.problems.append(f"{kind} must be a list with at least one item")
            return
        if len(items) > MOST_ITEMS:
            self.problems.append(f"{kind} has {len(items)} items: at most {MOST_ITEMS} are read")
            return
        labels: set[str] = set()
        for number, item in enumerate(items, 1):
            entry = self.entry(kind, f"{kind} item {number}", item, samples, block, common_question)
            if entry is None:
                continue
            label = " ".join(entry.label.split())  # labels that differ only in white space look the same
            if label in labels:
                self.problems.append(f"{kind} item {number}: label '{label}' is used twice; give one a label")
            labels.add(label)
            yield entry

    def entry(
        self, kind: str, location: str, item: Any, samples: int, block: int, common_question: Question
    ) -> Entry | None:
        table = {"use": item} if isinstance(item, str) else item
        if not isinstance(table, Mapping) or not isinstance(table.get("use"), str):
            self.problems.append(f'{location}: write a spec in quotes, or a table with use = "..."')
            return None
        allowed = ("use", "label", *(("samples", "block") if kind == "environments" else ("only",)))
        allowed = (*allowed, "question") if kind == "methods" else allowed
        for key in table:
            if key not in allowed:
                hint = suggest(key, allowed) or f' Parameters belong to the spec: use = "NAME({key}=...)".'
                self.problems.append(f"{location}: unknown key '{key}'.{hint}")
        question = self.question(table.get("question", {}), f"{location}: question").over(common_question)
        try:
            spec = resolve(kind, Spec.parse(table["use"]))
        except SpecError as error:
            self.problems.append(f"{location}: {error}")
            return None
        return Entry(
            spec,
            self.text(table, "label", table["use"], f"{location}: label"),
            question if kind == "methods" else Question(),
            self.texts(table, "only", location),
            self.integer("samples", samples, table),
            self.integer("block", block, table, most=LARGEST_BLOCK),
        )

    def check_environments(self, lists: Mapping[str, tuple[Entry, ...]]) -> None:
        environment_names = {name for entry in lists["environments"] for name in (entry.spec.name, entry.label)}
        for entry in (*lists["methods"], *lists["metrics"]):
            for name in entry.only:
                if name not in environment_names:
                    self.problems.append(f"'{entry.label}': only = '{name}' is no environment of this study.")


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
