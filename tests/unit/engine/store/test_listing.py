"""The runs in a store, as a list."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from assay.core.records import Record
from assay.engine.store import listing
from assay.engine.store.lease import this_run, turn
from assay.engine.store.listing import list_runs
from assay.engine.store.store import Store


def test_runs_are_listed_with_what_they_recorded(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(listing, "PATIENCE", 0.0)
    store = Store.open(tmp_path, sync=False)
    first, second, third = "20260102T030405-000000-aa", "20260102T030406-000000-bb", "odd"
    with store.writer(first):
        digest = store.save({"x": np.arange(3)})
        store.put(Record("trial", "a", "ok", arrays=digest))
        store.put(Record("trial", "b", "failed"))
        store.put(Record("run", "r", "ok", data={"run": first, "study": {"name": "s\x1b"}}))
    with store.writer(second):
        store.put(Record("trial", "b", "skipped"))
    with store.writer(third):
        pass
    with turn(tmp_path, this_run(third, "t"), print):
        finished, stopped, silent = list_runs(tmp_path)
    assert (finished.study, finished.state, finished.began) == ("s\\x1b", "finished", "2026-01-02 03:04:05")
    assert (finished.records, finished.statuses) == (3, {"ok": 2, "skipped": 0, "failed": 1})
    log = tmp_path / "logs" / f"{first}.jsonl"
    assert finished.bytes == log.stat().st_size + store.arrays.path(digest).stat().st_size
    assert (stopped.study, stopped.state, stopped.statuses["skipped"]) == ("", "stopped", 1)
    assert (silent.study, silent.state, silent.began, silent.records) == ("t", "silent", "", 0)
