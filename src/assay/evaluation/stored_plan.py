"""The plan of an evaluation into a store: measured once, so that a run that is resumed goes on with the same rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from assay.core.machine import Resources
from assay.core.records import digest
from assay.core.spec import Spec
from assay.engine.artifacts.component import Component
from assay.engine.artifacts.model import make_place
from assay.engine.store.files import write_atomically
from assay.engine.store.store import Store
from assay.evaluation.plan import Item, Plan, fitted

FILE = "plan.json"


def stored_plan(
    wanted: Plan, environment: Spec, kind: str, budget: float | None, store: Path, resources: Resources, keep: bool
) -> Plan:
    """The plan that fits the time: the store's, where the same was asked before, else a new one, which is kept."""
    component = Component("environments", environment)
    asked = digest([_to_json(wanted), component.identity, budget, resources.workers])
    path = store / FILE
    with suppress(OSError, ValueError, KeyError, TypeError):
        known = json.loads(path.read_text(encoding="utf-8"))
        if known["asked"] == asked:
            return _from_json(known["plan"])
    machine = resources.machine
    plan = fitted(wanted, make_place(component, 0, 0, machine.dtype), kind, budget, resources.workers, machine)
    if keep:
        Store.open(store)
        write_atomically(path, json.dumps({"asked": asked, "plan": _to_json(plan)}, indent=1).encode(), sync=False)
    return plan


def _to_json(plan: Plan) -> dict[str, Any]:
    def rows(items: tuple[Item, ...]) -> list[list[Any]]:
        return [[item.label, str(item.spec), item.named] for item in items]

    return {**vars(plan), "methods": rows(plan.methods), "metrics": rows(plan.metrics), "dropped": list(plan.dropped)}


def _from_json(data: Mapping[str, Any]) -> Plan:
    def items(rows: list[list[Any]]) -> tuple[Item, ...]:
        return tuple(Item(label, Spec.parse(text), named=named) for label, text, named in rows)

    plain = {**data, "methods": items(data["methods"]), "metrics": items(data["metrics"])}
    return Plan(**{**plain, "dropped": tuple(data["dropped"])})
