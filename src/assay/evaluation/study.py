"""An evaluation as a study: what the shell stores and Python keeps in memory."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from assay.catalogue.build import describe
from assay.catalogue.registry import resolve
from assay.core.errors import SpecError
from assay.core.features import Steps
from assay.core.setting import Setting
from assay.core.spec import Spec
from assay.engine.execute.grid import Objects
from assay.evaluation.canvases import Canvas, first_that_fits, on_canvases, takes_canvas
from assay.evaluation.defaults import METRICS
from assay.evaluation.plan import Item, Plan
from assay.report.answer import UNFAMILIAR
from assay.report.findings import LEFT_OUT
from assay.report.text import counted
from assay.studies.study import Entry, Study

LABEL = "your model"
PICTURES = 4  # rows that the page draws


def metric_items(
    asked: Sequence[tuple[str, Spec]] | None, chosen: Sequence[Canvas], canvases_named: bool
) -> list[Item]:
    """Metrics on the canvases; without any asked for, those that decide, and how unlike the data each canvas is. A
    metric that was asked for is put on one canvas, unless the user names several."""
    named = asked is not None
    pairs = list(asked) if asked is not None else [(label, Spec(name)) for label, name in METRICS]
    if not named:
        pairs.append(("unlike the reference", Spec(UNFAMILIAR)))
    items = []
    for label, spec in pairs:
        one = named and not canvases_named and takes_canvas(spec)
        places = [first_that_fits(spec, chosen)] if one else chosen
        for full_label, full_spec, canvas in on_canvases(label, spec, places):
            items.append(Item(full_label, full_spec, _on_callable(full_spec, canvas), named))
    return items


def _on_callable(metric: Spec, canvas: Canvas | None) -> Any:
    """The metric with the user's function in place of a canvas, which no spec can name."""
    if not callable(canvas):
        return None
    from dataclasses import replace

    from assay.catalogue.build import build

    return replace(build("metrics", resolve("metrics", metric)), canvas=canvas)


def make_study(environment: Entry, plan: Plan, notes: Sequence[str], rows_kept: bool = True) -> tuple[Study, Objects]:
    """The study of a plan, and those of its components that are objects of this process."""
    objects = {
        (kind, item.label): item.instance
        for kind, items in (("methods", plan.methods), ("metrics", plan.metrics))
        for item in items
        if item.instance is not None
    }
    study = Study(
        "evaluate",
        (environment,),
        tuple(_entry("methods", item) for item in plan.methods),
        tuple(_entry("metrics", item) for item in plan.metrics),
        title="Your model",
        seeds=(1 if plan.drawn else 0,),
        gallery=min(PICTURES, plan.rows) if rows_kept else 0,
        notes=tuple(notes),
    )
    return study, objects


def _entry(kind: str, item: Item) -> Entry:
    if item.instance is None:
        return Entry(resolve(kind, item.spec), item.label)
    return Entry(item.spec, item.label)


def spec_of(instance: Any, label: str) -> Spec:
    """The spec of an object where text can express it, else one with its label for a name."""
    with suppress(SpecError, TypeError, ValueError, AttributeError):
        spec = describe(instance)
        if Spec.parse(str(spec)) == spec:
            return spec
    letters = "".join(letter if letter.isalnum() else "_" for letter in label)
    return Spec(letters if letters[:1].isalpha() else f"object_{letters}")


def notes(setting: Setting, rows: int, given_reference: bool, plan: Plan, chosen: Sequence[str]) -> list[str]:
    """Sentences about the data, what was chosen about them and the model, and the plan."""
    what, reference = _features(setting), setting.reference
    said = [f"{plan.rows} of {rows} rows of {what} were evaluated." if plan.rows < rows else f"{rows} rows of {what}."]
    if reference is not None:
        said.append(f"Reference: {f'{len(reference.x)} rows' if given_reference else 'the rows themselves'}.")
    said += chosen
    said += [f"{LEFT_OUT} {sentence}." for sentence in plan.dropped]
    return said


def _features(setting: Setting) -> str:
    """What a row is made of."""
    shape, features = setting.features.shape, setting.features
    if isinstance(features, Steps):
        return f"{counted(features.steps, 'step')} of {counted(features.channels, 'channel')}"
    nouns = {"table": "columns", "image": "pixels", "tokens": "tokens"}
    return f"{' x '.join(map(str, shape))} {nouns.get(setting.kind, 'features')}"
