"""Reading which metrics of a study are compared with which truth.

[[agreement]]
truth = "F1, positive"                      # label of a metric
metrics = ["insertion", "deletion"]         # default: all other metrics that rank methods
methods = ["GradCAM", "IG"]                 # default: all but controls
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from assay.catalogue.registry import card
from assay.core.errors import suggest
from assay.core.spec import walk
from assay.foreign.imports import imports_allowed
from assay.study.faithfulness import Values
from assay.study.limits import MOST_ITEMS
from assay.study.study import Agreement, Entry

_KEYS = ("truth", "metrics", "methods")
FEWEST_METHODS = 3


@dataclass(frozen=True)
class AgreementReader:
    """Reads comparisons with truth and collects problems instead of stopping at the first."""

    values: Values

    def agreements(self, tables: Any, lists: Mapping[str, tuple[Entry, ...]]) -> Iterator[Agreement]:
        if not isinstance(tables, list) or not all(isinstance(table, Mapping) for table in tables):
            self.values.problems.append("agreement must be a list of tables such as { truth = 'f1' }")
            return
        if len(tables) > MOST_ITEMS:
            self.values.problems.append(f"agreement has {len(tables)} items: at most {MOST_ITEMS} are read")
            return
        for number, table in enumerate(tables, 1):
            yield self._agreement(table, f"agreement item {number}", lists)

    def _agreement(self, table: Mapping[str, Any], location: str, lists: Mapping[str, tuple[Entry, ...]]) -> Agreement:
        self.values.problems += [
            f"{location}: unknown key '{key}'.{suggest(key, _KEYS)}" for key in table if key not in _KEYS
        ]
        truth = self.values.text(table, "truth", "", f"{location}: truth")
        self._check_metric(truth, location, lists["metrics"])
        metrics = self.values.texts(table, "metrics", location)
        for metric in metrics:
            self._check_metric(metric, location, lists["metrics"])
        if truth in metrics:
            self.values.problems.append(f"{location}: '{truth}' is the truth; compare other metrics with it")
        others = tuple(entry.label for entry in lists["metrics"] if entry.label != truth and _ranks_methods(entry))
        return Agreement(truth, metrics or others, self._methods(table, location, lists["methods"]))

    def _check_metric(self, label: str, location: str, metrics: tuple[Entry, ...]) -> None:
        entry = next((entry for entry in metrics if entry.label == label), None)
        if entry is None:
            labels = [entry.label for entry in metrics]
            self.values.problems.append(f"{location}: no metric '{label}'.{suggest(label, labels)}")
        elif not _ranks_methods(entry):
            self.values.problems.append(
                f"{location}: '{label}' ranks no methods: it does not say whether higher is better, or is about models"
            )

    def _methods(self, table: Mapping[str, Any], location: str, methods: tuple[Entry, ...]) -> tuple[str, ...]:
        labels = [entry.label for entry in methods]
        names = self.values.texts(table, "methods", location)
        self.values.problems += [
            f"{location}: no method '{name}'.{suggest(name, labels)}" for name in names if name not in labels
        ]
        chosen = tuple(dict.fromkeys(names)) or tuple(entry.label for entry in methods if not _is_control(entry))
        if len(chosen) < FEWEST_METHODS:
            self.values.problems.append(
                f"{location}: {len(chosen)} of the methods are compared (controls only if they are named): "
                f"a correlation needs {FEWEST_METHODS} or more"
            )
        return chosen


def _ranks_methods(metric: Entry) -> bool:
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
