"""What a run would cost: counted from the plan, timed from what the store already has."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

from assay.execute.grid import grid
from assay.execute.plan import plan
from assay.store.format import is_store
from assay.store.memory import MemoryStore
from assay.store.store import Store
from assay.study.study import Study


def forecast(study: Study, root: Path, dtype: str) -> dict[str, Any]:
    """Artifacts by kind, and seconds of one core if times are known; nothing is computed or written."""
    store: Store | MemoryStore = Store.open(root, create=False) if is_store(root) else MemoryStore()
    todo = plan(grid(study, dtype), store)
    seconds: dict[str, list[float]] = {}
    for record in store.records():
        if "cpu" in record.cost:
            seconds.setdefault(record.kind, []).append(record.cost["cpu"])
    typical = {kind: median(times) for kind, times in seconds.items()}
    total = sum(typical.get(artifact.kind, 0.0) for artifact in todo.artifacts)
    known = bool(typical) or not todo.artifacts
    return {"jobs": dict(todo.kinds), "trials": todo.trials, "reused": todo.reused, "seconds": total if known else None}
