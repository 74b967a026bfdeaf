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

An item is a spec, maybe with a label (``IG=integrated_gradients``), or a table with ``use`` and further keys.
``sweep`` varies a parameter (``sweep.py``). The keys of ``full`` replace those of the file at full scale. All mistakes
in the file are reported at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from assay.catalogue.registry import resolve
from assay.core.errors import SpecError, StudyError
from assay.core.question import Question
from assay.core.records import printable
from assay.core.spec import Spec, labelled
from assay.studies.agreement import read_agreement
from assay.studies.faithfulness import read_test
from assay.studies.form import EnvironmentItem, FileTable, Item, MethodItem, MetricItem, StudyTable, checked, located
from assay.studies.limits import LONGEST_TEXT, MOST_ITEMS, excesses
from assay.studies.slope import read_slope
from assay.studies.study import Entry, Study
from assay.studies.sweep import read_sweep
from assay.studies.toml import read_toml

_ITEMS: dict[str, type[Item]] = {"environments": EnvironmentItem, "methods": MethodItem, "metrics": MetricItem}


def load(path: Path) -> Study:
    """Read and resolve a study file; StudyError lists all its problems."""
    return read(read_toml(path), path.stem, str(path))


def read(table: Mapping[str, Any], name: str, source: str = "study") -> Study:
    """A study from a parsed table; StudyError lists all its problems."""
    if problems := list(islice(excesses(table), MOST_ITEMS)):
        raise StudyError(source, problems)
    table = {**dict.fromkeys(_ITEMS), **table}  # these three must be there
    form = checked(FileTable, table, problems)
    study = _study(form, name, problems)
    if form.full:
        in_full: list[str] = []
        full_table = {**{key: value for key, value in table.items() if key != "full"}, **form.full}
        full = _study(checked(StudyTable, full_table, in_full), name, in_full)
        study = replace(study, full=full, full_keys=tuple(form.full))
        problems += [f"full: {problem}" for problem in in_full if problem not in problems]
    if problems:
        raise StudyError(source, problems)
    return study


def _study(form: StudyTable, name: str, problems: list[str]) -> Study:
    question = _question(form.question, problems)
    lists = {kind: tuple(_entries(kind, form, question, problems)) for kind in _ITEMS}
    sweep = None
    if form.sweep is not None:
        with located("sweep", problems) as found:
            sweep = read_sweep(form.sweep, lists, found)
    problems += _environment_problems(form, lists)
    tests, agreements, slopes = [], [], []
    for number, table in enumerate(form.faithfulness, 1):
        with located(f"faithfulness item {number}", problems) as found:
            tests.append(read_test(table, lists, found))
    for number, table in enumerate(form.agreement, 1):
        with located(f"agreement item {number}", problems) as found:
            agreements.append(read_agreement(table, lists, found))
    for number, table in enumerate(form.slope, 1):
        with located(f"slope item {number}", problems) as found:
            slopes.append(read_slope(table, lists, found))
    return Study(
        name,
        lists["environments"],
        lists["methods"],
        lists["metrics"],
        title=form.title,
        seeds=form.seeds,
        data_seed=form.data_seed,
        gallery=form.gallery,
        faithfulness=tuple(tests),
        agreement=tuple(agreements),
        slope=tuple(slopes),
        sweep=sweep,
    )


def _question(table: Mapping[str, Any], problems: list[str]) -> Question:
    with located("question", problems):
        return Question.from_table(table)
    return Question()


def _entries(kind: str, study: StudyTable, common_question: Question, problems: list[str]) -> Iterator[Entry]:
    labels: set[str] = set()
    sizes = {"samples": study.samples, "block": study.block}
    for number, item in enumerate(getattr(study, kind), 1):
        with located(f"{kind} item {number}", problems) as found:
            table = _table(item) if isinstance(item, str) else item
            if not isinstance(table, Mapping) or not isinstance(table.get("use"), str):
                raise SpecError('write a spec in quotes, or a table with use = "..."')
            form = checked(_ITEMS[kind], table, found)
            question = (
                _question(form.question, found).over(common_question) if isinstance(form, MethodItem) else Question()
            )
            label = form.label or printable(form.use, LONGEST_TEXT)
            plain = {**sizes, **form.model_dump(include={"only", "family", *sizes}, exclude_unset=True)}
            entry = Entry(resolve(kind, Spec.parse(form.use)), label, question, **plain)
            label = " ".join(label.split())  # labels that differ only in white space look the same
            if label in labels:
                found.append(f"label '{label}' is used twice; give one a label")
            labels.add(label)
            yield entry


def _table(text: str) -> dict[str, str]:
    label, use = labelled(text)
    return {"use": use, "label": label} if label else {"use": use}


def _environment_problems(form: StudyTable, lists: Mapping[str, tuple[Entry, ...]]) -> Iterator[str]:
    """What is asked of environments, or of samples, that the study does not have."""
    names = {name for entry in lists["environments"] for name in (entry.spec.name, entry.label)}
    for entry in (*lists["methods"], *lists["metrics"]):
        for name in entry.only:
            if name not in names:
                yield f"'{entry.label}': only = '{name}' is no environment of this study."
    last = max(form.gallery) if isinstance(form.gallery, tuple) else 0
    for entry in lists["environments"]:
        if last >= entry.samples:
            yield f"gallery: '{entry.label}' has samples 0 to {entry.samples - 1}, and none {last}"
