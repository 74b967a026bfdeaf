"""Reading which metrics of a study are compared with which truth.

[[agreement]]
truth = "F1, positive"                      # label of a metric
metrics = ["insertion", "deletion"]         # default: all other metrics that rank methods
methods = ["GradCAM", "IG"]                 # default: all but controls
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.catalogue.registry import card
from assay.core.errors import suggest
from assay.core.spec import walk
from assay.foreign.imports import imports_allowed
from assay.studies.form import AgreementTable, checked
from assay.studies.study import Agreement, Entry

FEWEST_METHODS = 3


def read_agreement(table: Mapping[str, Any], lists: Mapping[str, tuple[Entry, ...]], problems: list[str]) -> Agreement:
    form = checked(AgreementTable, table, problems)
    for metric in (form.truth, *form.metrics):
        problems += metric_problem(metric, lists["metrics"])
    if form.truth in form.metrics:
        problems.append(f"'{form.truth}' is the truth; compare other metrics with it")
    methods = compared_methods(form.methods, lists["methods"], problems)
    others = (entry.label for entry in lists["metrics"] if entry.label != form.truth and ranks_methods(entry))
    return Agreement(form.truth, form.metrics or tuple(others), methods)


def compared_methods(named: Sequence[str], entries: Sequence[Entry], problems: list[str]) -> tuple[str, ...]:
    """The methods that are named, or all but controls."""
    labels = [entry.label for entry in entries]
    problems += [f"no method '{name}'.{suggest(name, labels)}" for name in named if name not in labels]
    methods = tuple(dict.fromkeys(named)) or tuple(entry.label for entry in entries if not _is_control(entry))
    if len(methods) < FEWEST_METHODS:
        problems.append(
            f"{len(methods)} of the methods are compared (controls only if they are named): "
            f"a correlation needs {FEWEST_METHODS} or more"
        )
    return methods


def metric_problem(label: str, metrics: tuple[Entry, ...]) -> list[str]:
    entry = next((entry for entry in metrics if entry.label == label), None)
    if entry is None:
        return [f"no metric '{label}'.{suggest(label, [entry.label for entry in metrics])}"]
    if ranks_methods(entry):
        return []
    return [f"'{label}' ranks no methods: it does not say whether higher is better, or is about models"]


def ranks_methods(metric: Entry) -> bool:
    """Whether better values mean a better method. A foreign metric that is not imported yet is taken to."""
    if metric.spec.foreign and not imports_allowed():
        return True
    facts = card("metrics", metric.spec.name).with_params(metric.spec)
    return facts.fact("higher_is_better") is not None and facts.fact("about") != "models"


def _is_control(method: Entry) -> bool:
    """Whether a method is a control or wraps one."""
    names: list[str] = []
    walk(method.spec, lambda inner: None if inner.foreign else names.append(inner.name))
    return any(card("methods", name).fact("control") for name in names)
