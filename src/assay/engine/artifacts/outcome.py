"""Outcomes: every computation ends as a record, which is ok, skipped with a reason, or failed with a traceback."""

from __future__ import annotations

import os
import platform
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from assay.core.errors import NotApplicable
from assay.core.records import Kind, Record, printable
from assay.engine.artifacts.artifact import Arrays, Computed

_REASON, _TRACEBACK = 2_000, 20_000  # characters that are kept of what foreign code says
_PASSED_ON = ("trial", "evidence")  # a failure of these kinds is passed on with its own reason


class Blocked(Exception):
    """An artifact that this one needs was skipped or failed."""

    def __init__(self, record: Record) -> None:
        self.record = record
        super().__init__(record.reason)


def make_record(
    kind: Kind, key: str, work: Callable[[], Computed], save: Callable[[Arrays], str], raises: bool = False
) -> Record:
    """Do the work and record how it ended. Interrupts pass through; a component's sys.exit() is a failure. With
    ``raises``, every exception passes through."""
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        computed = work()
        cost = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
        digest = save(computed.arrays) if computed.arrays else ""
        return Record(kind, key, "ok", arrays=digest, data=computed.data, cost=cost, origin=origin())
    except BaseException as error:
        if raises or not isinstance(error, Exception | SystemExit):
            raise
        return _unsuccessful_record(kind, key, error)


def _unsuccessful_record(kind: Kind, key: str, error: BaseException) -> Record:
    if isinstance(error, NotApplicable):
        return Record(kind, key, "skipped", reason=printable(str(error), _REASON), origin=origin())
    if isinstance(error, Blocked):
        return _blocked_record(kind, key, error.record)
    return failed_record(kind, key, f"{type(error).__name__}: {error}", "".join(traceback.format_exception(error)))


def failed_record(kind: Kind, key: str, reason: str, trace: str = "") -> Record:
    reason, trace = printable(reason, _REASON), printable(trace, _TRACEBACK)
    return Record(kind, key, "failed", reason=reason, traceback=trace, origin=origin())


def _blocked_record(kind: Kind, key: str, cause: Record) -> Record:
    if cause.status == "skipped":
        return Record(kind, key, "skipped", reason=cause.reason, origin=origin())
    reason = cause.reason if cause.kind in _PASSED_ON else f"its {cause.kind} failed: {cause.reason}"
    return failed_record(kind, key, reason, cause.traceback)


def origin() -> dict[str, Any]:
    """Time, process, machine and versions; never part of a result."""
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "pid": os.getpid(),
        **_versions(),
    }


@lru_cache(maxsize=1)
def _versions() -> dict[str, str]:
    packages = ("assay-xai", "torch", "numpy", "captum", "scikit-learn")
    return {"python": platform.python_version(), "host": platform.node(), **{name: _version(name) for name in packages}}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
