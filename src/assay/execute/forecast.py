"""What a run would cost: counted from the plan, timed from what the store already has."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

from assay.execute.plan import plan
from assay.store.format import is_store
from assay.store.store import Store
from assay.study.study import Study


def forecast(study: Study, root: Path, dtype: str) -> dict[str, Any]:
    """Jobs by kind, and seconds of one core if times are known; nothing is computed or written."""
    store = Store.open(root, create=False) if is_store(root) else _Nothing()
    todo = plan(study, store, dtype)  # type: ignore[arg-type]
    seconds: dict[str, list[float]] = {}
    for record in store.records():
        if "cpu" in record.cost:
            seconds.setdefault(record.kind, []).append(record.cost["cpu"])
    wanted = [kind for job in todo.jobs for kind, _ in job.makes]
    typical = {kind: median(times) for kind, times in seconds.items()}
    total = sum(typical.get(kind, 0.0) for kind in wanted) if typical or not wanted else None
    return {"jobs": todo.counts(), "trials": todo.trials, "reused": todo.reused, "seconds": total}


class _Nothing:
    """A store before it exists."""

    def has(self, _key: str) -> bool:
        return False

    def get(self, _key: str) -> None:
        return None

    def records(self) -> list[Any]:
        return []
