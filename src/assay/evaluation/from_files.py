"""An evaluation of a model and rows that the shell names: its study, and the plan that the store keeps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from assay.catalogue.build import build
from assay.catalogue.registry import resolve
from assay.core.errors import SpecError
from assay.core.machine import Resources
from assay.core.setting import Setting
from assay.core.spec import Spec, labelled
from assay.engine.artifacts.artifact import default_block_size
from assay.environments.own import Own
from assay.evaluation.asked import check_fits, covered, said_of
from assay.evaluation.canvases import Canvas, canvases, needs_reference
from assay.evaluation.defaults import default_methods
from assay.evaluation.plan import Item, Plan
from assay.evaluation.stored_plan import stored_plan
from assay.evaluation.study import make_study, metric_items, notes
from assay.foreign.inputs import dtype_name
from assay.studies.study import Entry, Study


@dataclass(frozen=True)
class Asked:
    """What the user named; empty: what fits the model."""

    methods: tuple[str, ...]
    metrics: tuple[str, ...]
    canvases: tuple[Canvas, ...]
    budget: float | None  # seconds
    limit: int | None  # rows
    keeps_rows: bool


def planned(own: Entry, asked: Asked, store: Path, resources: Resources, keep: bool) -> tuple[Study, Plan]:
    """The study of the user's rows, methods and metrics, or of those that fit the model and the time."""
    environment = build("environments", own.spec)
    setting, rows = environment.setting(0, {}), environment.rows
    unnamed = not asked.metrics and not asked.canvases
    if setting.reference is None and unnamed and needs_reference(setting.kind):
        raise SpecError(
            "one row without a reference: what would replace a removed feature? Give training rows, with --reference "
            "or as reference_x in the data, or --canvas, a number for example."
        )
    chosen = canvases(setting.kind, asked.canvases or None, setting.question.baseline)
    specs, left_out = asked.methods, list[str]()
    if not specs:
        found, left_out = default_methods(setting, environment.sample(range(min(rows, 1)), 0))
        specs = tuple(found)
    methods = tuple(_item(text, bool(asked.methods)) for text in specs)
    named_metrics = [(item.label, item.spec) for item in (_item(text, True) for text in asked.metrics)] or None
    metrics = tuple(metric_items(named_metrics, chosen, bool(asked.canvases)))
    count, uncovered = covered(_given(methods, setting, environment), min(asked.limit or rows, rows))
    wanted = Plan(methods, metrics, count, dropped=(*left_out, *uncovered), first=bool(uncovered))
    plan = stored_plan(wanted, own.spec, setting.kind, asked.budget, store, resources, keep)
    # No row more than there is time for:
    place = replace(own, samples=plan.rows, block=default_block_size(setting.kind), rows=plan.rows)
    said = notes(setting, rows, environment.subject.rows.reference is not None, plan, environment.subject.notes)
    return make_study(place, plan, said, asked.keeps_rows)[0], plan


def in_own_format(own: Entry, resources: Resources) -> Resources:
    """Resources in the number format of the user's rows, in which Python evaluates them, too."""
    if resources.machine.device.startswith("mps"):  # has no float64
        return resources
    rows = build("environments", own.spec).subject.rows
    return replace(resources, machine=replace(resources.machine, dtype=dtype_name(rows.x.dtype)))


def _item(text: str, named: bool) -> Item:
    label, spec = labelled(text)
    return Item(label or text, Spec.parse(spec), named=named)


def _given(methods: tuple[Item, ...], setting: Setting, environment: Own) -> list[tuple[str, Any]]:
    """The methods that know what they were made for, checked with the user's rows."""
    built = [(item, build("methods", resolve("methods", item.spec))) for item in methods]
    found = [(item, method) for item, method in built if hasattr(method, "check_fits")]
    x = environment.sample(range(environment.rows), 0).x if found else torch.empty(0)
    for item, method in found:
        with said_of("" if item.label.startswith(item.spec.name) else item.label):
            check_fits(method, setting, x)
    return [(item.label, method) for item, method in found]
