"""Reading the faithfulness tests of a study file.

    faithfulness = [{ metric = "F1", gamma = 0.5, require = ["IG"], by = { GradCAM = "F1 smooth" } }]

``FaithfulnessTable`` has all keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from assay.catalogue.registry import card, resolve
from assay.core.errors import suggest
from assay.core.floors import Check
from assay.core.spec import Spec
from assay.foreign.imports import imports_allowed
from assay.studies.form import FaithfulnessTable, checked
from assay.studies.study import Entry, Faithfulness


def floors(metric: Spec, label: str, gamma: float, signs: bool, agreement: float) -> list[tuple[Check, Spec]]:
    """The checks of a test on one metric, each with the spec of its metric.

    F1 overall does not see signs. With ``signs``, F1 of positive and of negative truth are checked with the same floor,
    and the agreement of signs with its own.
    """
    if metric.name != "f1" or metric.get("sign") != "overall":
        return [(Check(label, gamma, str(metric.get("sign") or "")), metric)]
    overall = [(Check(label, gamma, "overall"), metric)]
    if not signs:
        return overall
    sign_names = ("positive", "negative")
    per_sign = [(Check(f"{label}, {sign}", gamma, sign), metric.replace(sign=sign)) for sign in sign_names]
    sign_agreement = resolve("metrics", Spec.of("sign_agreement", truth=metric.get("truth", "explained")))
    return [*overall, *per_sign, (Check("sign agreement", agreement, "agreement"), sign_agreement)]


def read_test(table: Mapping[str, Any], lists: dict[str, tuple[Entry, ...]], problems: list[str]) -> Faithfulness:
    """A test. Metrics that it needs and the study does not list are added to ``lists``."""
    form = checked(FaithfulnessTable, table, problems)
    problems += _metric_problem(form.metric, lists["metrics"])
    checks: tuple[Check, ...] = ()
    for entry in (entry for entry in lists["metrics"] if entry.label == form.metric):
        check_specs = floors(entry.spec, form.metric, form.gamma, form.signs, form.agreement)
        checks, lists["metrics"] = _with_metrics(entry, check_specs, lists["metrics"])
    labels = [entry.label for entry in lists["methods"]]
    problems += [f"no method '{name}'.{suggest(name, labels)}" for name in form.require if name not in labels]
    problems += [f"by: no method '{name}'.{suggest(name, labels)}" for name in form.by if name not in labels]
    for metric in form.by.values():
        problems += [f"by: {problem}" for problem in _metric_problem(metric, lists["metrics"])]
    return Faithfulness(form.metric, form.gamma, form.require, checks, form.by, form.rule, form.strict)


def _metric_problem(label: str, metrics: tuple[Entry, ...]) -> list[str]:
    spec = next((entry.spec for entry in metrics if entry.label == label), None)
    if spec is None:
        return [f"no metric '{label}'.{suggest(label, [entry.label for entry in metrics])}"]
    if higher := _higher_is_better(spec):
        return []
    why = "does not say that higher is better (higher_is_better)" if higher is None else "is better when lower"
    return [f"'{label}' {why}; the test needs a metric with a floor"]


def _with_metrics(
    tested: Entry, check_specs: list[tuple[Check, Spec]], metrics: tuple[Entry, ...]
) -> tuple[tuple[Check, ...], tuple[Entry, ...]]:
    """The checks, with their metrics' labels in the study; and the study's metrics, with those that it lacked."""
    checks = []
    for check, spec in check_specs:
        entry_for_check = next((entry for entry in metrics if entry.spec == spec), None)
        if entry_for_check is None:
            labels = {entry.label for entry in metrics}
            label = check.metric if check.metric not in labels else f"{check.metric} ({spec})"
            entry_for_check = replace(tested, spec=spec, label=label)
            metrics = (*metrics, entry_for_check)
        checks.append(replace(check, metric=entry_for_check.label))
    return tuple(checks), metrics


def _higher_is_better(spec: Spec) -> bool | None:
    """None where the metric does not declare it."""
    if spec.foreign and not imports_allowed():
        return True  # as far as is known
    declared = card("metrics", spec.name).with_params(spec).fact("higher_is_better")
    return None if declared is None else bool(declared)
