"""What replaces a removed feature of a user's data: chosen here for the shell and for Python, named in every output.

Most metrics by themselves replace a feature by 0, as most papers do. No row of a table is 0 in every column, and no
natural image is black, so that a model's answers there say little about it. The model knows values of reference rows. A
text without a word is a text, so that 0, where it stands for no word, removes words.
A metric that by itself replaces features otherwise, as ROAD does, is left as it was defined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias, Union

from assay.catalogue.registry import card, expand_alias
from assay.core.errors import SpecError, suggest
from assay.core.spec import Spec
from assay.metrics._removal import CANVASES

Canvas: TypeAlias = Union[str, float, Callable[..., Any]]

CHOICES = {"table": ("rows", "mean"), "image": ("blur", "colour"), "tokens": ("zero",), "series": ("rows", "mean")}
OF_REFERENCE = ("rows", "row", "mean", "colour")  # canvases that are made of reference rows
ZERO = "zero"  # what most metrics replace features by
SYNONYMS = {"marginal": "rows"}  # of other packages; "baseline" is what the methods compare with


def canvases(kind: str, asked: Canvas | Sequence[Canvas] | None, baseline: str | float) -> tuple[Canvas, ...]:
    """The canvases for data of this kind: those that were asked for, else two of which neither is unlike the data."""
    if asked is None:
        return CHOICES[kind]
    items = [asked] if isinstance(asked, str) or not isinstance(asked, Sequence) else list(asked)
    found = [
        baseline if item == "baseline" else SYNONYMS.get(item, item) if isinstance(item, str) else item
        for item in items
    ]
    if not found:
        raise SpecError("canvas=[]: name at least one, or leave it out.")
    for name in (item for item in found if isinstance(item, str) and item not in CANVASES):
        choices = f"{', '.join(CANVASES)} or a number"
        raise SpecError(f"no canvas '{name}'.{suggest(name, CANVASES)} Known: {choices}.")
    return tuple(dict.fromkeys(found))


def needs_reference(kind: str) -> bool:
    """Whether what is chosen for data of this kind is made of reference rows."""
    return any(choice in OF_REFERENCE for choice in CHOICES[kind])


def canvas_names(chosen: Sequence[Canvas]) -> list[str]:
    """The name of each: functions have names like no other canvas, and each of its own."""
    names = [_name(canvas) for canvas in chosen]
    numbers = [names[:index].count(name) + 1 for index, name in enumerate(names)]
    return [name if number == 1 else f"{name} {number}" for name, number in zip(names, numbers, strict=True)]


def _name(canvas: Canvas) -> str:
    if callable(canvas):
        return f"{getattr(canvas, '__name__', type(canvas).__name__)}()"
    return canvas if isinstance(canvas, str) else f"{canvas:g}"


def takes_canvas(metric: Spec) -> bool:
    """Whether a metric replaces features by 0 because its spec does not say otherwise."""
    metric = expand_alias("metrics", metric)
    return not metric.has("canvas") and any(
        param.name == "canvas" and param.default == ZERO for param in card("metrics", metric.name).params
    )


def first_that_fits(metric: Spec, chosen: Sequence[Canvas]) -> Canvas:
    """The first canvas that the metric is defined for, by the list in the help of its parameter."""
    declared = card("metrics", expand_alias("metrics", metric).name).params
    known = " ".join(param.note for param in declared if param.name == "canvas").replace(",", " ").split()
    return next((canvas for canvas in chosen if canvas in known), chosen[0])


def on_canvases(label: str, metric: Spec, chosen: Sequence[Canvas]) -> Iterator[tuple[str, Spec, Canvas | None]]:
    """The metric on each canvas, with its label; once, where it leaves nothing open. The spec of a metric on a function
    has the name of the function."""
    if not takes_canvas(metric):
        yield label, metric, None
        return
    for canvas, name in zip(chosen, canvas_names(chosen), strict=True):
        full = f"{label}, {name}" if len(chosen) > 1 else label
        yield full, metric.replace(canvas=name if callable(canvas) else canvas), canvas
