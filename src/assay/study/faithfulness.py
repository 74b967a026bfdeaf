"""Reading the faithfulness tests of a study file.

    faithfulness = [{ metric = "F1", gamma = 0.5, require = ["IG"], by = { GradCAM = "F1 smooth" } }]

Further keys, with their defaults: ``signs`` (true), ``agreement`` (0.75), ``rule`` ("interval", or "point") and
``strict`` (false).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from assay.catalogue.registry import card, resolve
from assay.core.errors import suggest
from assay.core.floors import RULES, Check, Rule
from assay.core.records import printable
from assay.core.spec import Spec
from assay.foreign.imports import imports_allowed
from assay.study.limits import LONGEST_TEXT, MOST_ITEMS
from assay.study.study import Entry, Faithfulness

AGREEMENT = 0.75  # (ours) share of the true effect named by a map that must have the right sign


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


class Values(Protocol):
    """Reads values of a table and collects problems."""

    problems: list[str]

    def text(self, table: Mapping[str, Any], key: str, default: str, location: str) -> str: ...

    def texts(self, table: Mapping[str, Any], key: str, location: str) -> tuple[str, ...]: ...


@dataclass(frozen=True)
class TestReader:
    """Reads tests and collects problems instead of stopping at the first."""

    values: Values

    def tests(self, tests: Any, lists: dict[str, tuple[Entry, ...]]) -> Iterator[Faithfulness]:
        """The tests. Metrics that a test needs and the study does not list are added to ``lists``."""
        methods = [entry.label for entry in lists["methods"]]
        if not isinstance(tests, list) or not all(isinstance(test, Mapping) for test in tests):
            self.values.problems.append("faithfulness must be a list of tables such as { metric = 'f1', gamma = 0.5 }")
            return
        if len(tests) > MOST_ITEMS:
            self.values.problems.append(f"faithfulness has {len(tests)} items: at most {MOST_ITEMS} are read")
            return
        for number, table in enumerate(tests, 1):
            location = f"faithfulness item {number}"
            allowed = ("metric", "gamma", "require", "signs", "agreement", "by", "rule", "strict")
            self.values.problems += [
                f"{location}: unknown key '{key}'.{suggest(key, allowed)}" for key in table if key not in allowed
            ]
            metric, gamma = self.metric(table, location, lists["metrics"]), self.number(table, "gamma", 0.5, location)
            agreement = self.number(table, "agreement", AGREEMENT, location)
            signs, strict = self.boolean(table, "signs", True, location), self.boolean(table, "strict", False, location)
            checks: tuple[Check, ...] = ()
            for entry in (entry for entry in lists["metrics"] if entry.label == metric):
                check_specs = floors(entry.spec, metric, gamma, signs, agreement)
                checks, lists["metrics"] = _with_metrics(entry, check_specs, lists["metrics"])
            yield Faithfulness(
                metric,
                gamma,
                self.required_methods(table, location, methods),
                checks,
                self.metric_by_method(table, location, methods, lists["metrics"]),
                self.rule(table, location),
                strict,
            )

    def metric_by_method(
        self, table: Mapping[str, Any], location: str, methods: list[str], metrics: tuple[Entry, ...]
    ) -> tuple[tuple[str, str], ...]:
        """Methods that are judged by another metric: labels of both."""
        labels = table.get("by", {})
        if not isinstance(labels, Mapping):
            self.values.problems.append(
                f"{location}: by must be a table of methods and metrics such as {{ GradCAM = 'F1 smooth' }}"
            )
            return ()
        labels = {printable(name, LONGEST_TEXT): metric for name, metric in labels.items()}
        self.values.problems += [
            f"{location}: by: no method '{name}'.{suggest(name, methods)}" for name in labels if name not in methods
        ]
        return tuple(
            (name, self.metric({"metric": metric}, f"{location}: by", metrics)) for name, metric in labels.items()
        )

    def rule(self, table: Mapping[str, Any], location: str) -> Rule:
        rule = table.get("rule", "interval")
        if rule not in RULES:
            self.values.problems.append(f"{location}: rule must be 'interval' or 'point', not {rule!r}")
            return "interval"
        return rule  # type: ignore[no-any-return]

    def metric(self, table: Mapping[str, Any], location: str, metrics: tuple[Entry, ...]) -> str:
        labels = [entry.label for entry in metrics]
        metric = self.values.text(table, "metric", "", f"{location}: metric")
        if metric not in labels:
            self.values.problems.append(f"{location}: no metric '{metric}'.{suggest(metric, labels)}")
        elif not (higher := _higher_is_better(metrics, metric)):
            why = "does not say that higher is better (higher_is_better)" if higher is None else "is better when lower"
            self.values.problems.append(f"{location}: '{metric}' {why}; the test needs a metric with a floor")
        return metric

    def number(self, table: Mapping[str, Any], key: str, default: float, location: str) -> float:
        value = table.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
            self.values.problems.append(f"{location}: {key} must be a number, not {value!r}")
            return default
        return float(value)

    def boolean(self, table: Mapping[str, Any], key: str, default: bool, location: str) -> bool:
        value = table.get(key, default)
        if not isinstance(value, bool):
            self.values.problems.append(f"{location}: {key} must be true or false, not {value!r}")
            return default
        return value

    def required_methods(self, table: Mapping[str, Any], location: str, labels: list[str]) -> tuple[str, ...]:
        names = self.values.texts(table, "require", location)
        self.values.problems += [
            f"{location}: no method '{name}'.{suggest(name, labels)}" for name in names if name not in labels
        ]
        return names


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


def _higher_is_better(metrics: tuple[Entry, ...], label: str) -> bool | None:
    """None where the metric does not declare it."""
    spec = next(entry.spec for entry in metrics if entry.label == label)
    if spec.foreign and not imports_allowed():
        return True  # as far as is known
    declared = card("metrics", spec.name).with_params(spec).fact("higher_is_better")
    return None if declared is None else bool(declared)
