"""Reading the faithfulness tests of a study file.

    faithfulness = [{ metric = "F1", gamma = 0.5, require = ["IG"], by = { GradCAM = "F1 smooth" } }]

``signs`` (true), ``agreement`` (0.75), ``rule`` ("interval" or "point") and ``strict`` (false) may be given, too.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from assay.core.errors import suggest
from assay.core.floors import RULES, Check, Rule
from assay.core.registry import card
from assay.core.spec import Spec
from assay.study.floors import AGREEMENT, floors
from assay.study.study import Entry, Faithfulness


class Values(Protocol):
    """Reads values of a table and collects what is wrong with them."""

    problems: list[str]

    def text(self, table: Mapping[str, Any], key: str, default: str, where: str) -> str: ...

    def texts(self, table: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]: ...


@dataclass(frozen=True)
class TestReader:
    """Reads tests and collects problems instead of stopping at the first."""

    values: Values

    def tests(self, tests: Any, lists: dict[str, tuple[Entry, ...]]) -> Iterator[Faithfulness]:
        """Metrics that a test needs and the study does not list are added to ``lists``."""
        methods = [entry.label for entry in lists["methods"]]
        if not isinstance(tests, list) or not all(isinstance(test, Mapping) for test in tests):
            self.values.problems.append("faithfulness must be a list of tables such as { metric = 'f1', gamma = 0.5 }")
            return
        for number, table in enumerate(tests, 1):
            where = f"faithfulness item {number}"
            known = ("metric", "gamma", "require", "signs", "agreement", "by", "rule", "strict")
            self.values.problems += [
                f"{where}: unknown key '{key}'.{suggest(key, known)}" for key in table if key not in known
            ]
            metric, gamma = self.tested(table, where, lists["metrics"]), self.number(table, "gamma", 0.5, where)
            agreement = self.number(table, "agreement", AGREEMENT, where)
            signs, strict = self.truth(table, "signs", True, where), self.truth(table, "strict", False, where)
            checks: tuple[Check, ...] = ()
            for entry in (entry for entry in lists["metrics"] if entry.label == metric):
                wanted = floors(entry.spec, metric, gamma, signs, agreement)
                checks, lists["metrics"] = _with_metrics(entry, wanted, lists["metrics"])
            yield Faithfulness(
                metric,
                gamma,
                self.required(table, where, methods),
                checks,
                self.by(table, where, methods, lists["metrics"]),
                self.rule(table, where),
                strict,
            )

    def by(
        self, table: Mapping[str, Any], where: str, methods: list[str], metrics: tuple[Entry, ...]
    ) -> tuple[tuple[str, str], ...]:
        """Methods with a metric of their own."""
        given = table.get("by", {})
        if not isinstance(given, Mapping):
            self.values.problems.append(
                f"{where}: by must be a table of methods and metrics such as {{ GradCAM = 'F1 smooth' }}"
            )
            return ()
        self.values.problems += [
            f"{where}: by: no method '{name}'.{suggest(name, methods)}" for name in given if name not in methods
        ]
        return tuple((name, self.tested({"metric": metric}, f"{where}: by", metrics)) for name, metric in given.items())

    def rule(self, table: Mapping[str, Any], where: str) -> Rule:
        rule = table.get("rule", "interval")
        if rule not in RULES:
            self.values.problems.append(f"{where}: rule must be 'interval' or 'point', not {rule!r}")
            return "interval"
        return rule  # type: ignore[no-any-return]

    def tested(self, table: Mapping[str, Any], where: str, metrics: tuple[Entry, ...]) -> str:
        labels = [entry.label for entry in metrics]
        metric = self.values.text(table, "metric", "", f"{where}: metric")
        if metric not in labels:
            self.values.problems.append(f"{where}: no metric '{metric}'.{suggest(metric, labels)}")
        elif not (higher := _higher_is_better(metrics, metric)):
            why = "does not say that higher is better (higher_is_better)" if higher is None else "is better when lower"
            self.values.problems.append(f"{where}: '{metric}' {why}; the test needs a metric with a floor")
        return metric

    def number(self, table: Mapping[str, Any], key: str, default: float, where: str) -> float:
        value = table.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
            self.values.problems.append(f"{where}: {key} must be a number, not {value!r}")
            return default
        return float(value)

    def truth(self, table: Mapping[str, Any], key: str, default: bool, where: str) -> bool:
        value = table.get(key, default)
        if not isinstance(value, bool):
            self.values.problems.append(f"{where}: {key} must be true or false, not {value!r}")
            return default
        return value

    def required(self, table: Mapping[str, Any], where: str, labels: list[str]) -> tuple[str, ...]:
        names = self.values.texts(table, "require", where)
        self.values.problems += [
            f"{where}: no method '{name}'.{suggest(name, labels)}" for name in names if name not in labels
        ]
        return names


def _with_metrics(
    tested: Entry, wanted: list[tuple[Check, Spec]], metrics: tuple[Entry, ...]
) -> tuple[tuple[Check, ...], tuple[Entry, ...]]:
    """The checks by the labels that their metrics have in the study, and the study's metrics with those it lacked."""
    checks = []
    for check, spec in wanted:
        known = next((entry for entry in metrics if entry.spec == spec), None)
        if known is None:
            taken = {entry.label for entry in metrics}
            label = check.metric if check.metric not in taken else f"{check.metric} ({spec})"
            known = replace(tested, spec=spec, label=label)
            metrics = (*metrics, known)
        checks.append(replace(check, metric=known.label))
    return tuple(checks), metrics


def _higher_is_better(metrics: tuple[Entry, ...], label: str) -> bool | None:
    """None where the metric does not say."""
    spec = next(entry.spec for entry in metrics if entry.label == label)
    found = card("metrics", spec.name).given(spec).fact("higher_is_better")
    return None if found is None else bool(found)
