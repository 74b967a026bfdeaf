"""What the user asked for, as items of a plan: methods and metrics by name or as objects, canvases, rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from numbers import Real
from typing import Any, TypeAlias

from torch import Tensor

from assay.catalogue.build import component_and_name, method_and_name
from assay.core.errors import SpecError
from assay.core.records import printable
from assay.core.setting import Setting
from assay.core.spec import Spec, labelled
from assay.evaluation.canvases import Canvas
from assay.evaluation.defaults import default_methods
from assay.evaluation.plan import Item
from assay.evaluation.study import metric_items, spec_of
from assay.own_model import OwnModel

LABEL = 200  # characters of a label
Components: TypeAlias = Sequence[Any] | Mapping[str, Any]  # specs and objects, or these by label


def either(**values: Any) -> Any:
    """The value of a parameter that has two names."""
    given = {name: value for name, value in values.items() if value is not None}
    if len(given) > 1:
        raise SpecError(f"{' and '.join(given)} are two names for the same: give one.")
    return next(iter(given.values()), None)


def asked_methods(methods: Components | None, own: OwnModel) -> tuple[list[Item], list[str]]:
    """Those that the user names, else those that fit the model; and sentences about what was left out."""
    if methods is None:
        specs, left_out = default_methods(own.setting, own.samples, own.machine)
        return [Item(text, Spec.parse(text)) for text in specs], left_out
    items = []
    for label, method in _labelled("methods", methods):
        with said_of(label):
            instance, name = method_and_name(method)
            check_fits(instance, own.setting, own.samples.x)
        items.append(Item(label or name, spec_of(instance, name), instance, named=True))
    return _with_own_labels(items), []


def asked_metrics(metrics: Components | None, chosen: Sequence[Canvas], canvases_named: bool) -> list[Item]:
    """Metrics named by a spec are put on the canvases; objects are as they are."""
    if metrics is None:
        return metric_items(None, chosen, canvases_named)
    items: list[Item] = []
    for label, metric in _labelled("metrics", metrics):
        with said_of(label):
            instance, name = component_and_name("metrics", metric)
        on_canvas = (
            metric_items([(label or name, Spec.parse(metric))], chosen, canvases_named)
            if isinstance(metric, str)
            else []
        )
        items += on_canvas or [Item(label or name, spec_of(instance, name), instance, named=True)]
    return _with_own_labels(items)


def _with_own_labels(items: list[Item]) -> list[Item]:
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


def _labelled(name: str, components: Components) -> list[tuple[str, Any]]:
    """The user's labels, empty where there is none, and the components."""
    if isinstance(components, str):
        raise SpecError(f"{name}='{components}': give a list, as in {name}=['{components}'].")
    if isinstance(components, Mapping):
        return [(printable(" ".join(str(label).split()), LABEL), one) for label, one in components.items()]
    if not isinstance(components, Iterable) or hasattr(components, "shape"):
        what = repr(components) if isinstance(components, Real) else type(components).__name__
        raise SpecError(f"{name} is {what}: give a list of specs or objects, or a dict with a label for each.")
    return [labelled(one) if isinstance(one, str) else ("", one) for one in components]


@contextmanager
def said_of(label: str) -> Iterator[None]:
    """A context whose errors begin with the user's label."""
    try:
        yield
    except SpecError as error:
        raise SpecError(f"{label}: {error}" if label else str(error)) from None


def check_fits(method: Any, setting: Setting, x: Tensor) -> None:
    """SpecError where a method that knows what it was made for cannot explain these rows of this model."""
    if hasattr(method, "check_fits"):
        method.check_fits(setting, x)


def covered(methods: Iterable[tuple[str, Any]], rows: int) -> tuple[int, list[str]]:
    """How many rows, the first ones, all given attributions are about; and a sentence where these are not all."""
    counts = {label: one.covered for label, one in methods if hasattr(one, "covered")}
    fewest = min([rows, *counts.values()])
    short = ", ".join(f"'{label}'" for label, count in counts.items() if count == fewest)
    return fewest, [f"{rows - fewest} of {rows} rows, for which {short} has no attributions"] if fewest < rows else []


def by_name(components: Iterable[tuple[Any, str]]) -> dict[str, Any]:
    """Components by name. Of several with the same name, the later ones get a number."""
    unique: dict[str, Any] = {}
    for component, name in components:
        earlier = sum(key == name or key.startswith(f"{name} (") for key in unique)
        unique[f"{name} ({earlier + 1})" if earlier else name] = component
    return unique
