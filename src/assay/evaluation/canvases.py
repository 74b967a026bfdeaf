"""What replaces a removed feature of a user's data: chosen here for the shell and for Python, named in every output.

Metrics by themselves replace a feature by 0, as most papers do. No row of a table is 0 in every column, and no natural
image is black, so that a model's answers there say little about it. The model knows values of reference rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias, Union

from assay.catalogue.registry import card, expand_alias
from assay.core.errors import SpecError
from assay.core.spec import Spec

Canvas: TypeAlias = Union[str, float, Callable[..., Any]]

CHOICES = {"table": ("rows", "mean"), "image": ("blur", "colour"), "tokens": ("zero",)}
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
    return tuple(dict.fromkeys(found))


def canvas_name(canvas: Canvas) -> str:
    if callable(canvas):
        return getattr(canvas, "__name__", type(canvas).__name__)
    return canvas if isinstance(canvas, str) else f"{canvas:g}"


def takes_canvas(metric: Spec) -> bool:
    """Whether a metric removes features and its spec does not say what replaces them."""
    metric = expand_alias("metrics", metric)
    declared = {param.name for param in card("metrics", metric.name).params}
    return "canvas" in declared and not metric.has("canvas")


def on_canvases(label: str, metric: Spec, chosen: Sequence[Canvas]) -> Iterator[tuple[str, Spec, Canvas | None]]:
    """The metric on each canvas, with its label; once, where it leaves nothing open."""
    if not takes_canvas(metric):
        yield label, metric, None
        return
    for canvas in chosen:
        full = f"{label}, {canvas_name(canvas)}" if len(chosen) > 1 else label
        yield full, metric if callable(canvas) else metric.replace(canvas=canvas), canvas
