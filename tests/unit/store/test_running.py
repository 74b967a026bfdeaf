"""Which runs are alive: told by their own files and the clock of the one who looks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from assay.store import running
from assay.store.running import RunningRun, RunningRuns, running_runs, this_run

ELSEWHERE = RunningRun("r1", "study", "far", "another machine", 1, 1, ("k1",), ("r2",))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(running.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(running.time, "sleep", lambda seconds: now.append(now.pop() + seconds))
    return now


def test_a_file_says_what_was_written(tmp_path: Path) -> None:
    RunningRuns(tmp_path).write(ELSEWHERE)
    assert RunningRuns(tmp_path).alive() == [ELSEWHERE]
    assert RunningRuns(tmp_path, own="r1").alive() == []
    RunningRuns(tmp_path).remove("r1")
    assert RunningRuns(tmp_path).alive() == []


def test_a_run_of_another_machine_is_alive_while_its_file_changes(tmp_path: Path, clock: list[float]) -> None:
    runs = RunningRuns(tmp_path)
    for count in range(1, 5):
        runs.write(replace(ELSEWHERE, count=count))
        assert [run.count for run in runs.alive()] == [count]
        assert runs.has_changed(ELSEWHERE) == (count > 1)
        clock[0] += running.SILENCE
    clock[0] += 1
    assert runs.alive() == []
    assert not list(runs.folder.iterdir())


def test_clocks_of_other_machines_do_not_matter(tmp_path: Path) -> None:
    runs = RunningRuns(tmp_path)
    runs.write(ELSEWHERE)
    os.utime(tmp_path / "running" / "r1.json", (0, 0))
    assert runs.alive() == [ELSEWHERE]


def test_a_run_that_was_only_stopped_for_a_while_is_alive_again(tmp_path: Path, clock: list[float]) -> None:
    runs = RunningRuns(tmp_path)
    runs.write(ELSEWHERE)
    assert runs.alive()
    clock[0] += running.SILENCE + 1
    assert not runs.alive()
    runs.write(replace(ELSEWHERE, count=2))
    assert runs.alive()


def test_a_process_of_this_machine_that_has_ended_is_known_at_once(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it has ended, but nobody has asked how
    runs = RunningRuns(tmp_path)
    for _ in range(2):
        runs.write(replace(this_run("gone", "s"), pid=process.pid))
        runs.write(this_run("here", "s"))
        assert [run.run for run in runs.alive()] == ["here"]
        process.wait()


@pytest.mark.parametrize("text", ["", "[]", "7", '{"computing": 7}', "\x00", "[" * 10**5])
def test_a_file_that_is_something_else_stops_nobody(tmp_path: Path, text: str) -> None:
    (tmp_path / "running").mkdir()
    (tmp_path / "running" / "r9.json").write_text(text)
    assert RunningRuns(tmp_path).alive() == []


def test_a_file_with_odd_numbers_is_of_a_run_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "running").mkdir()
    (tmp_path / "running" / "r9.json").write_text('{"count": "x", "pid": 1e999}')
    assert [run.run for run in RunningRuns(tmp_path).alive()] == ["r9"]


def test_names_that_are_shown_have_no_control_characters(tmp_path: Path) -> None:
    (tmp_path / "running").mkdir()
    (tmp_path / "running" / "r9.json").write_text(json.dumps({"study": "\x1b[2J", "host": "\x07"}))
    (run,) = RunningRuns(tmp_path).alive()
    assert (run.study, run.host) == ("\\x1b[2J", "\\x07")


def test_waiting_for_a_sign_of_life_ends_with_the_silence(tmp_path: Path, clock: list[float]) -> None:
    RunningRuns(tmp_path).write(ELSEWHERE)
    assert running_runs(tmp_path, patience=3.0) == {ELSEWHERE: False}
    assert running_runs(tmp_path) == {}
    assert clock[0] > running.SILENCE


def test_a_store_without_running_runs_is_not_waited_for(tmp_path: Path, clock: list[float]) -> None:
    assert running_runs(tmp_path) == {}
    assert clock == [0.0]
