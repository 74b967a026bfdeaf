"""What the user asked for, as items of a plan: methods and metrics by name or as objects, canvases, rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

from assay.catalogue.build import component_and_name, method_and_name
from assay.core.errors import SpecError
from assay.core.spec import Spec
from assay.evaluation.canvases import Canvas
from assay.evaluation.defaults import default_methods
from assay.evaluation.plan import Item
from assay.evaluation.study import metric_items, spec_of
from assay.own_model import OwnModel


def either(**values: Any) -> Any:
    """The value of a parameter that has two names."""
    given = {name: value for name, value in values.items() if value is not None}
    if len(given) > 1:
        raise SpecError(f"{' and '.join(given)} are two names for the same: give one.")
    return next(iter(given.values()), None)


def asked_methods(methods: Sequence[Any] | None, own: OwnModel) -> tuple[list[Item], list[str]]:
    """Those that the user names, else those that fit the model; and sentences about what was left out."""
    if methods is None:
        specs, left_out = default_methods(own.setting, own.samples, own.machine)
        return [Item(text, Spec.parse(text)) for text in specs], left_out
    found = by_name(method_and_name(method) for method in _checked_list("methods", methods))
    return [Item(name, spec_of(instance, name), instance, named=True) for name, instance in found.items()], []


def asked_metrics(metrics: Sequence[Any] | None, chosen: Sequence[Canvas], canvases_named: bool) -> list[Item]:
    """Metrics named by a spec are put on the canvases; objects are as they are."""
    if metrics is None:
        return metric_items(None, chosen, canvases_named)
    items: list[Item] = []
    for metric in _checked_list("metrics", metrics):
        instance, name = component_and_name("metrics", metric)
        on_canvas = (
            metric_items([(name, Spec.parse(metric))], chosen, canvases_named) if isinstance(metric, str) else []
        )
        items += on_canvas or [Item(name, spec_of(instance, name), instance, named=True)]
    labels = by_name((item, item.label) for item in items)
    return [replace(item, label=label) for label, item in labels.items()]


def asked_rows(limit: int | None, rows: int) -> int:
    """How many of the rows may be evaluated."""
    if limit is not None and limit < 1:
        raise SpecError(f"limit={limit} leaves no rows: give at least 1.")
    return min(limit or rows, rows)


def checked_budget(budget: object) -> float | None:
    """Seconds; None for as long as it takes."""
    if budget is None or (isinstance(budget, Real) and not isinstance(budget, bool) and float(budget) > 0):
        return None if budget is None else float(budget)
    raise SpecError(f"budget={budget!r}: give a number of seconds, or None for as long as it takes.")


def _checked_list(name: str, components: Sequence[Any]) -> Sequence[Any]:
    if isinstance(components, str):
        raise SpecError(f"{name}='{components}': give a list, as in {name}=['{components}'].")
    if not isinstance(components, Iterable):
        raise SpecError(f"{name}={components!r}: give a list of specs or objects.")
    return components


def by_name(components: Iterable[tuple[Any, str]]) -> dict[str, Any]:
    """Components by name. Of several with the same name, the later ones get a number."""
    unique: dict[str, Any] = {}
    for component, name in components:
        earlier = sum(key == name or key.startswith(f"{name} (") for key in unique)
        unique[f"{name} ({earlier + 1})" if earlier else name] = component
    return unique
