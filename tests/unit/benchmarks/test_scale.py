"""Engines are compared from the moment at which all their workers are warm; how fast they are is nobody's test."""

from __future__ import annotations

import pytest

from assay.core.errors import AssayError
from assay.core.records import Record
from assay.engine.execute.plan import Plan
from benchmarks import scale

SHOWN = {"task", "problem", "repeats", "who", "figure", "ratio", "note"}


def evidence(process: int, status: str = "ok") -> Record:
    return Record("evidence", "k", status, reason="as told", origin={"pid": process})  # type: ignore[arg-type]


def test_blocks_count_once_every_worker_has_finished_one(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(100))
    monkeypatch.setattr("benchmarks.scale.time.perf_counter", lambda: float(next(clock)))
    watch = scale.Stopwatch(2, start=0.0)
    next(clock)
    for process in (7, 7, 7, 8, 7, 8):
        watch(evidence(process), Plan(()))
    watch(Record("trial", "t", "ok"), Plan(()))
    assert (watch.startup, watch.blocks, watch.seconds_per_block) == (4.0, 2, 1.0)


def test_a_block_that_fails_stops_the_benchmark() -> None:
    with pytest.raises(AssayError, match="as told"):
        scale.Stopwatch(1)(evidence(1, "failed"), Plan(()))


def test_rates_and_overheads_are_shown_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = {1: 5.0, 2: 3.0}
    done = {workers: scale.Stopwatch(workers, 0.0, 1.0, end, 4) for workers, end in ends.items()}
    monkeypatch.setattr(scale, "watched", lambda _study, resources: done[resources.workers])
    rows = [row for problem in scale.problems() for row in problem.rows("scale", 2)]
    assert all(set(row) >= SHOWN for row in rows)
    assert [row["who"] for row in rows] == list(scale.ENGINES) * 2
    assert [row["ratio"] for row in rows] == [
        "",
        "2.00 of local, 1 process (at least 1.7)",
        "1.00 of local, 2 processes (at least 0.9)",
        "",
        "",
        "at most 20 ms",
    ]
    assert rows[0]["figure"] == "1.00 blocks/s, ready after 1.0 s"
    assert rows[3]["figure"] == "1000.00 ms"
