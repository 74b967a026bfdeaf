"""Outcomes: whatever happens while something is computed becomes a record: ok, skipped with a reason, or failed."""

from __future__ import annotations

import os
import platform
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from itertools import count
from typing import Any

from assay.artifacts.artifact import Arrays, Made
from assay.core.errors import NotApplicable
from assay.core.records import Kind, Record

_order = count()
_PASSED_ON = ("trial", "evidence")  # what fails with these fails for the same reason


class Blocked(Exception):
    """Something that this work needs was skipped or failed."""

    def __init__(self, record: Record) -> None:
        self.record = record
        super().__init__(record.reason)


def outcome(
    kind: Kind, key: str, work: Callable[[], Made], save: Callable[[Arrays], str], raises: bool = False
) -> Record:
    """Do the work and say how it ended. Only an interrupt passes through, not even a component's sys.exit(); with
    ``raises``, everything does."""
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        made = work()
        cost = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
        digest = save(made.arrays) if made.arrays else ""
        return Record(kind, key, "ok", arrays=digest, data=made.data, cost=cost, origin=origin())
    except BaseException as error:
        if raises or not isinstance(error, Exception | SystemExit):
            raise
        return _ended(kind, key, error)


def _ended(kind: Kind, key: str, error: BaseException) -> Record:
    if isinstance(error, NotApplicable):
        return Record(kind, key, "skipped", reason=str(error), origin=origin())
    if isinstance(error, Blocked):
        return _blocked(kind, key, error.record)
    return failed(kind, key, f"{type(error).__name__}: {error}", "".join(traceback.format_exception(error)))


def failed(kind: Kind, key: str, reason: str, trace: str = "") -> Record:
    return Record(kind, key, "failed", reason=reason, traceback=trace, origin=origin())


def _blocked(kind: Kind, key: str, cause: Record) -> Record:
    if cause.status == "skipped":
        return Record(kind, key, "skipped", reason=cause.reason, origin=origin())
    reason = cause.reason if cause.kind in _PASSED_ON else f"its {cause.kind} failed: {cause.reason}"
    return failed(kind, key, reason, cause.traceback)


def origin() -> dict[str, Any]:
    """When, where and with what: never part of a result."""
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "pid": os.getpid(),
        "order": next(_order),  # which record of its process this is: the first one of a kind also warmed things up
        **_versions(),
    }


@lru_cache(maxsize=1)
def _versions() -> dict[str, str]:
    names = ("assay-xai", "torch", "numpy", "captum", "scikit-learn")
    return {"python": platform.python_version(), "host": platform.node(), **{name: _version(name) for name in names}}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
