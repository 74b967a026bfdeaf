"""Whose turn it is: told by files, processes and the clock of the one who looks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from assay.engine.store import lease
from assay.engine.store.lease import Lease, Leases, running, this_run, turn

ELSEWHERE = Lease("r1", "study", "far", "another machine", 1, 1)
OWN = this_run("own", "study")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(lease.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(lease.time, "sleep", lambda seconds: now.append(now.pop() + seconds))
    return now


def held(root: Path, by: Lease, number: int = 7) -> Leases:
    leases = Leases(root)
    leases.write(number, by)
    return leases


def numbers(root: Path) -> list[str]:
    return sorted(path.name for path in (root / "running").iterdir())


def silent(sentence: str) -> None:
    pytest.fail(sentence)


def test_a_run_has_the_turn_inside_the_context_and_nobody_has_it_before_and_after(tmp_path: Path) -> None:
    assert Leases(tmp_path).holder() is None
    with turn(tmp_path, OWN, silent):
        assert Leases(tmp_path).holder() == OWN
    assert Leases(tmp_path).holder() is None
    with turn(tmp_path, OWN, silent):
        assert numbers(tmp_path) == ["2.json"]


def test_a_run_of_another_machine_is_alive_while_its_file_changes(tmp_path: Path, clock: list[float]) -> None:
    leases = Leases(tmp_path)
    for count in range(1, 5):
        leases.write(1, replace(ELSEWHERE, count=count))
        assert leases.holder() == replace(ELSEWHERE, count=count)
        assert leases.has_changed == (count > 1)
        clock[0] += lease.SILENCE
    clock[0] += 1
    assert leases.holder() is None


def test_clocks_of_other_machines_do_not_matter(tmp_path: Path) -> None:
    leases = held(tmp_path, ELSEWHERE)
    os.utime(tmp_path / "running" / "7.json", (0, 0))
    assert leases.holder() == ELSEWHERE


def test_a_process_of_this_machine_that_has_ended_is_known_at_once(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it has ended, but nobody has asked how
    for _ in range(2):
        assert held(tmp_path, replace(OWN, pid=process.pid)).holder() is None
        process.wait()
    assert held(tmp_path, OWN).holder() == OWN


def test_a_wait_ends_with_the_silence_and_is_announced_once(tmp_path: Path, clock: list[float]) -> None:
    held(tmp_path, ELSEWHERE)
    said: list[str] = []
    with turn(tmp_path, OWN, said.append):
        assert lease.SILENCE < clock[0] < lease.SILENCE + 1
        assert numbers(tmp_path) == ["8.json"]
    assert said == ["waiting for another run (r1, far, process 1), which writes into this store."]


def test_of_runs_that_wait_for_the_same_dead_run_one_gets_the_turn(tmp_path: Path) -> None:
    held(tmp_path, replace(OWN, ended=True))
    waiting = [Leases(tmp_path) for _ in range(3)]
    assert [leases.holder() for leases in waiting] == [None] * 3
    assert [leases.take(replace(OWN, run=str(n))) for n, leases in enumerate(waiting)] == [8, None, None]
    found = waiting[1].holder()
    assert found is not None
    assert found.run == "0"


def test_a_number_that_was_used_and_removed_gives_no_turn(tmp_path: Path) -> None:
    slow = held(tmp_path, replace(OWN, ended=True))
    assert slow.holder() is None
    for run in ("a", "b"):
        leases = Leases(tmp_path)
        assert leases.holder() is None
        number = leases.take(replace(ELSEWHERE, run=run))
        assert number is not None
        if run == "a":
            leases.write(number, replace(ELSEWHERE, run=run, ended=True))
    assert numbers(tmp_path) == ["9.json"]
    assert slow.take(OWN) is None
    assert numbers(tmp_path) == ["9.json"]


def test_a_run_that_lost_its_turn_takes_it_from_nobody(tmp_path: Path) -> None:
    with turn(tmp_path, replace(OWN, run="stopped"), silent):
        late = Leases(tmp_path)
        assert late.holder() is not None
        assert late.take(OWN) == 2
    assert late.holder() == OWN


def test_many_runs_have_the_turn_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "_POLL", 0.001)
    inside, most = [0], [0]

    def run(number: int) -> None:
        for _ in range(5):
            with turn(tmp_path, replace(OWN, run=str(number)), print):
                inside[0] += 1
                most.append(inside[0])
                inside[0] -= 1

    threads = [threading.Thread(target=run, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (len(most), max(most)) == (31, 1)


@pytest.mark.parametrize("text", ["", "[]", "7", '{"count": "x", "pid": 1e999}', "\x00", "[" * 10**5])
def test_a_file_that_is_something_else_is_waited_for_until_the_silence(
    tmp_path: Path, clock: list[float], text: str
) -> None:
    (tmp_path / "running").mkdir()
    (tmp_path / "running" / "3.json").write_text(text)
    with turn(tmp_path, OWN, print):
        assert clock[0] > lease.SILENCE


def test_files_of_other_names_are_no_leases(tmp_path: Path) -> None:
    (tmp_path / "running").mkdir()
    for name in ("20260102T030405-678901-1a2b3c4d.json", "8.json.partial-00", "².json", "-1.json"):
        (tmp_path / "running" / name).write_text(json.dumps({"run": "r"}))
    assert Leases(tmp_path).holder() is None


def test_names_that_are_shown_have_no_control_characters(tmp_path: Path) -> None:
    (tmp_path / "running").mkdir()
    (tmp_path / "running" / "1.json").write_text(json.dumps({"study": "\x1b[2J", "host": "\x07"}))
    found = Leases(tmp_path).holder()
    assert found is not None
    assert (found.study, found.host) == ("\\x1b[2J", "\\x07")


def test_waiting_for_a_sign_of_life_ends_with_the_silence(tmp_path: Path, clock: list[float]) -> None:
    held(tmp_path, ELSEWHERE)
    assert running(tmp_path, patience=3.0) == (ELSEWHERE, False)
    assert running(tmp_path) is None
    assert clock[0] > lease.SILENCE


def test_a_sign_of_life_ends_the_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "BEAT", 0.02)
    with turn(tmp_path, OWN, silent):
        found = running(tmp_path)
    assert found is not None
    assert (found[0].run, found[1]) == ("own", True)


def test_a_store_in_which_nobody_writes_is_not_waited_for(tmp_path: Path, clock: list[float]) -> None:
    assert running(tmp_path) is None
    assert clock == [0.0]
