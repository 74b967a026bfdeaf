"""Reading the sweep of a study file: one parameter of environments, methods or metrics takes several values.

    [sweep]
    of = "environments"
    parameter = "temperature"
    values = [1, 10, 100]
    only = ["non-uniform"]
    label = "temperature of the softmax"

Every item that has the parameter becomes one item for each value, labelled ``LABEL, parameter=value``. The others stay
as they are. ``only`` names the items that are varied, by label or component; default: all that have the parameter.
``of.steps`` is a parameter of the component inside ``of``; ``question.baseline`` a field of the methods' question.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from assay.catalogue.registry import resolve
from assay.core.errors import suggest
from assay.core.question import QUESTION, Question
from assay.core.records import printable
from assay.core.spec import Spec, Value
from assay.foreign.imports import imports_allowed
from assay.studies.form import SweepTable, checked, located
from assay.studies.limits import LONGEST_TEXT, MOST_ITEMS
from assay.studies.study import Entry, Sweep, Varied, value_text


def read_sweep(table: Mapping[str, Any], lists: dict[str, tuple[Entry, ...]], problems: list[str]) -> Sweep | None:
    """The sweep; None if it is too large. Varied items of ``lists`` are replaced by their copies."""
    form = checked(SweepTable, table, problems)
    varied = _varied(lists[form.of], form, problems)
    if len(varied) * len(form.values) > MOST_ITEMS:
        problems.append(f"{len(varied)} items with {len(form.values)} values each are more than {MOST_ITEMS} items")
        return None
    copies = {entry.label: _copies(entry, form, problems) for entry in varied}
    lists[form.of] = _unique((copies.get(entry.label, (entry,)) for entry in lists[form.of]), problems)
    labels = {name: tuple(copy.label for copy in group) for name, group in copies.items()}
    if form.of == "environments":
        for other in ("methods", "metrics"):
            lists[other] = tuple(replace(entry, only=_renamed(entry.only, labels)) for entry in lists[other])
    items = tuple(Varied(label, copies) for label, copies in labels.items())
    return Sweep(form.of, form.parameter, form.values, items, form.label or form.parameter)


def _varied(entries: Sequence[Entry], form: SweepTable, problems: list[str]) -> list[Entry]:
    """The items that are varied. A foreign component that must not be imported has the parameters it is given."""
    only, names = form.only, [name for entry in entries for name in (entry.label, entry.spec.name)]
    for name in only:
        if name not in names:
            problems.append(f"only: no item '{name}' among the {form.of}.{suggest(name, names)}")
    chosen = [entry for entry in entries if not only or entry.label in only or entry.spec.name in only]
    varied = [entry for entry in chosen if _has(entry, form)]
    known = [entry for entry in chosen if imports_allowed() or not entry.spec.foreign]
    if only:
        for entry in known:
            if entry not in varied:
                problems.append(f"'{entry.label}' has no parameter '{form.parameter}'.{_suggest(entry, form)}")
    elif not varied and len(known) == len(chosen) and entries:
        near = next((hint for entry in entries if (hint := _suggest(entry, form))), "")
        problems.append(f"none of the {form.of} has a parameter '{form.parameter}'.{near}")
    return varied


def _copies(entry: Entry, form: SweepTable, problems: list[str]) -> tuple[Entry, ...]:
    copies: dict[tuple[Spec, Question], Entry] = {}
    for value in form.values:
        with located(f"'{entry.label}'", problems) as found:
            copy = _copy(entry, form, value)
            if (copy.spec, copy.question) in copies:
                found.append(f"value {value_text(value)} is given twice")
            copies[copy.spec, copy.question] = copy
    return tuple(copies.values())


def _unique(groups: Iterable[Sequence[Entry]], problems: list[str]) -> tuple[Entry, ...]:
    entries = [entry for group in groups for entry in group]
    labels = [" ".join(entry.label.split()) for entry in entries]
    for label in dict.fromkeys(label for label in labels if labels.count(label) > 1):
        problems.append(f"label '{label}' is used twice; give an item another label")
    return tuple(entries)


def _has(entry: Entry, form: SweepTable) -> bool:
    if form.of == "methods" and form.parameter.startswith(QUESTION):
        return form.parameter.removeprefix(QUESTION) in [field.name for field in fields(Question)]
    return entry.spec.has(form.parameter)


def _copy(entry: Entry, form: SweepTable, value: Value) -> Entry:
    """The item with another value; SpecError says why it does not fit."""
    label = printable(f"{entry.label}, {form.parameter}={value_text(value)}", LONGEST_TEXT)
    if form.of == "methods" and form.parameter.startswith(QUESTION):
        question = Question.from_table({form.parameter.removeprefix(QUESTION): value}).over(entry.question)
        return replace(entry, label=label, question=question)
    return replace(entry, label=label, spec=resolve(form.of, entry.spec.with_value(form.parameter, value)))


def _suggest(entry: Entry, form: SweepTable) -> str:
    return suggest(form.parameter, [name for name, _ in entry.spec.params])


def _renamed(only: Sequence[str], labels: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(name for old in only for name in labels.get(old, (old,)))
