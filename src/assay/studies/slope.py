"""Reading which two columns of a study stand side by side.

[[slope]]
left = "IDSDS"                  # labels of two metrics, in each environment that has both,
right = "IDSDS, softmax"        # or of two environments, by each metric that ranks methods in both
suffix = ", softmax"            # method M of the left is "M, softmax" on the right; default: the same method
methods = ["GradCAM", "IG"]     # on the left; default: all but controls, with a suffix those that have a counterpart
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from assay.core.errors import suggest
from assay.studies.agreement import compared_methods, metric_problem, ranks_methods
from assay.studies.form import SlopeTable, checked
from assay.studies.study import Entry, Slope

Lists = Mapping[str, tuple[Entry, ...]]
KINDS: tuple[Literal["metrics", "environments"], ...] = ("metrics", "environments")


def read_slope(table: Mapping[str, Any], lists: Lists, problems: list[str]) -> Slope:
    form = checked(SlopeTable, table, problems)
    sides = dict.fromkeys((form.left, form.right))
    kind = next((kind for kind in KINDS if sides.keys() <= _labels(lists, kind)), None)
    problems += _unknown(form, lists) if kind is None else _cannot_stand_together(form, kind, lists)
    if len(sides) == 1 and not form.suffix:
        problems.append(f"'{form.left}' is on both sides: give two metrics, two environments, or a suffix")
    return Slope(kind or "metrics", form.left, form.right, _methods(form, lists, problems), form.suffix)


def _labels(lists: Lists, kind: str) -> set[str]:
    return {entry.label for entry in lists[kind]}


def _unknown(form: SlopeTable, lists: Lists) -> Iterator[str]:
    labels = [entry.label for kind in KINDS for entry in lists[kind]]
    unknown = [name for name in dict.fromkeys((form.left, form.right)) if name not in labels]
    yield from (f"no metric and no environment '{name}'.{suggest(name, labels)}" for name in unknown)
    if not unknown:
        yield f"'{form.left}' and '{form.right}' are a metric and an environment: give two metrics or two environments"


def _cannot_stand_together(form: SlopeTable, kind: str, lists: Lists) -> Iterator[str]:
    left, right = (next(entry for entry in lists[kind] if entry.label == name) for name in (form.left, form.right))
    if kind == "metrics":
        for name in dict.fromkeys((form.left, form.right)):
            yield from metric_problem(name, lists["metrics"])
        if not any(left.applies(place) and right.applies(place) for place in lists["environments"]):
            yield f"no environment has both '{form.left}' and '{form.right}'"
    elif not any(ranks_methods(one) and one.applies(left) and one.applies(right) for one in lists["metrics"]):
        yield f"no metric ranks methods in both '{form.left}' and '{form.right}'"


def _methods(form: SlopeTable, lists: Lists, problems: list[str]) -> tuple[str, ...]:
    if not form.suffix:
        return compared_methods(form.methods, lists["methods"], problems)
    labels = _labels(lists, "methods")
    paired = tuple(entry for entry in lists["methods"] if entry.label + form.suffix in labels)
    if not paired:
        problems.append(f"suffix: no method has a counterpart whose label ends with '{form.suffix}'")
        return ()
    alone = labels.intersection(form.methods) - {entry.label for entry in paired}
    problems += [f"'{name}' has no counterpart '{name}{form.suffix}'" for name in form.methods if name in alone]
    named = tuple(name for name in form.methods if name not in alone)
    return compared_methods(named, paired, problems) if named or not alone else ()
