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

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from assay.catalogue.registry import resolve
from assay.core.errors import SpecError, suggest
from assay.core.question import QUESTION, Question
from assay.core.records import printable
from assay.core.spec import Spec, Value
from assay.foreign.imports import imports_allowed
from assay.study.faithfulness import Values
from assay.study.limits import LONGEST_TEXT, MOST_ITEMS
from assay.study.study import Entry, Sweep

_KEYS = ("of", "parameter", "values", "only", "label")
_KINDS = ("environments", "methods", "metrics")


@dataclass(frozen=True)
class SweepReader:
    """Reads a sweep and collects problems instead of stopping at the first."""

    values: Values

    def sweep(self, table: Any, lists: dict[str, tuple[Entry, ...]]) -> Sweep | None:
        """The sweep; None if it has problems. Varied items of ``lists`` are replaced by their copies."""
        if not isinstance(table, Mapping):
            self._problem(
                f"must be a table such as {{ of = 'methods', parameter = 'steps', values = [8, 64] }}, not {table!r}"
            )
            return None
        for key in table:
            if key not in _KEYS:
                self._problem(f"unknown key '{key}'.{suggest(key, _KEYS)}")
        kind, parameter = self._kind(table), self._parameter(table)
        values, only = tuple(self._values(table)), self.values.texts(table, "only", "sweep")
        label = self.values.text(table, "label", parameter, "sweep: label")
        if not (kind and parameter and values):
            return None
        varied = self._varied(lists[kind], parameter, kind, only)
        if len(varied) * len(values) > MOST_ITEMS:
            self._problem(f"{len(varied)} items with {len(values)} values each are more than {MOST_ITEMS} items")
            return None
        copies = {entry.label: self._copies(kind, entry, parameter, values) for entry in varied}
        lists[kind] = self._unique(copies.get(entry.label, (entry,)) for entry in lists[kind])
        labels = {name: tuple(copy.label for copy in group) for name, group in copies.items()}
        if kind == "environments":
            for other in ("methods", "metrics"):
                lists[other] = tuple(replace(entry, only=_renamed(entry.only, labels)) for entry in lists[other])
        return Sweep(kind, parameter, values, tuple(labels.items()), label)

    def _problem(self, sentence: str) -> None:
        self.values.problems.append(f"sweep: {sentence}")

    def _kind(self, table: Mapping[str, Any]) -> str:
        kind = table.get("of")
        if isinstance(kind, str) and kind in _KINDS:
            return kind
        self._problem(f"of must be 'environments', 'methods' or 'metrics', not {kind!r}")
        return ""

    def _parameter(self, table: Mapping[str, Any]) -> str:
        if "parameter" not in table:
            self._problem("parameter is missing: name the parameter that is varied")
        return self.values.text(table, "parameter", "", "sweep: parameter")

    def _values(self, table: Mapping[str, Any]) -> Iterator[Value]:
        values = table.get("values", [])
        if not isinstance(values, list) or not 2 <= len(values) <= MOST_ITEMS:
            self._problem("values must be a list of at least two values")
            return
        for value in values:
            if _is_literal(value):
                yield _as_value(value)
            else:
                self._problem(f"a value must be a finite number, a text, true, false or a list of these, not {value!r}")

    def _varied(self, entries: Sequence[Entry], parameter: str, kind: str, only: Sequence[str]) -> list[Entry]:
        """The items that are varied. A foreign component that must not be imported has the parameters it is given."""
        names = [name for entry in entries for name in (entry.label, entry.spec.name)]
        for name in only:
            if name not in names:
                self._problem(f"only: no item '{name}' among the {kind}.{suggest(name, names)}")
        chosen = [entry for entry in entries if not only or entry.label in only or entry.spec.name in only]
        varied = [entry for entry in chosen if _has(kind, entry, parameter)]
        known = [entry for entry in chosen if imports_allowed() or not entry.spec.foreign]
        if only:
            for entry in known:
                if entry not in varied:
                    self._problem(f"'{entry.label}' has no parameter '{parameter}'.{_suggest(entry, parameter)}")
        elif not varied and len(known) == len(chosen) and entries:
            near = next((hint for entry in entries if (hint := _suggest(entry, parameter))), "")
            self._problem(f"none of the {kind} has a parameter '{parameter}'.{near}")
        return varied

    def _copies(self, kind: str, entry: Entry, parameter: str, values: Sequence[Value]) -> tuple[Entry, ...]:
        copies: dict[tuple[Spec, Question], Entry] = {}
        for value in values:
            try:
                copy = _copy(kind, entry, parameter, value)
            except SpecError as error:
                self._problem(f"'{entry.label}': {error}")
                continue
            if (copy.spec, copy.question) in copies:
                self._problem(f"'{entry.label}': value {value_text(value)} is given twice")
            copies[copy.spec, copy.question] = copy
        return tuple(copies.values())

    def _unique(self, groups: Iterable[Sequence[Entry]]) -> tuple[Entry, ...]:
        entries = [entry for group in groups for entry in group]
        labels = [" ".join(entry.label.split()) for entry in entries]
        for label in dict.fromkeys(label for label in labels if labels.count(label) > 1):
            self._problem(f"label '{label}' is used twice; give an item another label")
        return tuple(entries)


def value_text(value: Any) -> str:
    """A value as labels, axes and tables show it."""
    if isinstance(value, tuple | list):
        return f"({', '.join(map(value_text, value))})"
    return value if isinstance(value, str) else repr(value)


def _is_literal(value: Any) -> bool:
    if isinstance(value, list):
        return all(_is_literal(item) for item in value)
    return isinstance(value, bool | str) or (isinstance(value, int | float) and abs(value) <= sys.float_info.max)


def _as_value(value: Any) -> Value:
    return tuple(_as_value(item) for item in value) if isinstance(value, list) else value


def _has(kind: str, entry: Entry, parameter: str) -> bool:
    if kind == "methods" and parameter.startswith(QUESTION):
        return parameter.removeprefix(QUESTION) in [field.name for field in fields(Question)]
    return entry.spec.has(parameter)


def _copy(kind: str, entry: Entry, parameter: str, value: Value) -> Entry:
    """The item with another value; SpecError says why it does not fit."""
    label = printable(f"{entry.label}, {parameter}={value_text(value)}", LONGEST_TEXT)
    if kind == "methods" and parameter.startswith(QUESTION):
        question = Question.from_table({parameter.removeprefix(QUESTION): value}).over(entry.question)
        return replace(entry, label=label, question=question)
    return replace(entry, label=label, spec=resolve(kind, entry.spec.with_value(parameter, value)))


def _suggest(entry: Entry, parameter: str) -> str:
    return suggest(parameter, [name for name, _ in entry.spec.params])


def _renamed(only: Sequence[str], labels: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(name for old in only for name in labels.get(old, (old,)))
