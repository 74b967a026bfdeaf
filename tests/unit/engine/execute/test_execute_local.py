"""Worker processes: every piece of work has its record, whatever happens to the workers."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from assay.core.errors import AssayError
from assay.core.machine import Machine
from assay.engine.execute.local import Local

HERE = Path(__file__).parent
PATIENCE = 30.0  # seconds; only a broken promise takes so long


@pytest.fixture
def pieces(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE))  # workers find it too
    import pieces

    return pieces


def run(pieces, tmp_path, *work, workers=1, timeout=None, desk=None):
    local = Local(tmp_path, workers, timeout=timeout, desk=desk or pieces.bench)
    return {record.key: record for record in local.run(pieces.Pieces(*work))}


def until(true, what):
    end = time.monotonic() + PATIENCE
    while not (found := true()):
        assert time.monotonic() < end, f"waited in vain until {what}"
        time.sleep(0.02)
    return found


def gone(pid):
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.mark.parametrize("workers", [1, 2])
def test_every_piece_has_its_record_and_gets_the_records_that_it_needs(pieces, tmp_path, workers):
    work = [pieces.Piece(f"{n}", needs=(f"{n - 1}",) if n % 5 else ()) for n in reversed(range(20))]
    found = run(pieces, tmp_path, *work, workers=workers)
    assert {key: dict(record.data["needs"]) for key, record in found.items()} == {
        piece.key: dict.fromkeys(piece.needs, "ok") for piece in work
    }
    assert len({record.data["pid"] for record in found.values()}) <= workers
    assert os.getpid() not in {record.data["pid"] for record in found.values()}


def test_nothing_to_do_starts_no_worker(pieces, tmp_path):
    assert run(pieces, tmp_path, desk=pieces.broken_bench) == {}


def test_no_more_workers_start_than_there_are_pieces(pieces, tmp_path):
    local = Local(tmp_path, 4, desk=pieces.bench).run(pieces.Pieces(pieces.Piece("a"), pieces.Piece("b", "spin")))
    next(local)
    assert len(multiprocessing.active_children()) == 2
    local.close()


@pytest.mark.parametrize(
    ("action", "cause"),
    [("crash", "signal 11, SIGSEGV"), ("leave", "exit code 3")],
)
def test_a_worker_that_dies_is_one_failed_record(pieces, tmp_path, action, cause):
    work = [pieces.Piece(f"{n}", action if n in (3, 4) else "finish", kind="probe") for n in range(9)]
    found = run(pieces, tmp_path, *work)
    assert {key for key, record in found.items() if record.status == "ok"} == set("0125678")
    for key in "34":
        assert (found[key].kind, found[key].status) == ("probe", "failed")
        assert found[key].reason == f"the worker died ({cause}) while it computed this"
    assert len({record.data["pid"] for record in found.values() if record.status == "ok"}) == 2


def test_a_worker_that_is_killed_may_have_had_too_little_memory(pieces, tmp_path):
    reason = run(pieces, tmp_path, pieces.Piece("a", "be_killed"))["a"].reason
    assert reason.startswith("the worker died (signal 9, SIGKILL) while it computed this. The system kills a process ")
    assert "fewer --workers, a smaller --memory" in reason


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere, a process is not told how much memory it has")
def test_a_worker_that_hoards_memory_is_replaced_and_every_piece_has_its_record(pieces, tmp_path):
    """Each piece keeps more than a worker has at its start. The first piece of a worker sets its mark."""
    work = [pieces.Piece(f"{n}", "hoard" if n in (1, 3) else "finish") for n in range(6)]
    local = Local(tmp_path, 1, Machine(memory=2**20), desk=pieces.bench)
    found = {record.key: record for record in local.run(pieces.Pieces(*work))}
    assert {record.status for record in found.values()} == {"ok"}
    pids = [found[str(n)].data["pid"] for n in range(6)]
    assert pids[0] == pids[1] != pids[2] == pids[3] != pids[4] == pids[5]


def test_a_worker_whose_first_piece_is_large_is_kept(pieces, tmp_path):
    """A large model is no hoard: a new process would load it again."""
    work = [pieces.Piece("a", "hoard"), *(pieces.Piece(key) for key in "bcd")]
    local = Local(tmp_path, 1, Machine(memory=2**20), desk=pieces.bench)
    assert len({record.data["pid"] for record in local.run(pieces.Pieces(*work))}) == 1


def test_what_needs_a_failed_piece_still_has_its_turn(pieces, tmp_path):
    found = run(pieces, tmp_path, pieces.Piece("a", "crash"), pieces.Piece("b", needs=("a",)))
    assert found["b"].data["needs"] == {"a": "failed"}


def test_a_worker_that_leaves_a_child_behind_is_dead_nevertheless(pieces, tmp_path):
    try:
        found = run(pieces, tmp_path, pieces.Piece("a", "leave_a_child"), pieces.Piece("b"))
    finally:
        (tmp_path / "go").touch()
    assert "SIGKILL" in found["a"].reason
    assert found["b"].status == "ok"


def test_a_worker_that_dies_while_it_has_nothing_to_do_costs_no_record(pieces, tmp_path):
    work = [pieces.Piece("a", "wait"), pieces.Piece("b"), *(pieces.Piece(key, needs=("a",)) for key in "cdef")]
    local = Local(tmp_path, 2, desk=pieces.bench).run(pieces.Pieces(*work))
    first = next(local)
    assert first.key == "b"
    os.kill(first.data["pid"], signal.SIGKILL)
    until(lambda: gone(first.data["pid"]), "the idle worker is gone")
    (tmp_path / "go").touch()
    assert {record.key: record.status for record in local} == dict.fromkeys("acdef", "ok")


def test_a_piece_that_takes_too_long_is_a_failed_record_that_says_so(pieces, tmp_path):
    work = [pieces.Piece("a"), pieces.Piece("b", "spin"), pieces.Piece("c", "spin_in_c"), pieces.Piece("d")]
    found = run(pieces, tmp_path, *work, timeout=0.5)
    assert {key: record.status for key, record in found.items()} == {"a": "ok", "b": "failed", "c": "failed", "d": "ok"}
    for key in "bc":
        assert found[key].reason == "took longer than 0.5 s and was stopped: see --timeout"
        assert gone(int((tmp_path / f"{key}.pid").read_text()))


def test_the_start_of_a_worker_is_not_on_the_clock_of_its_first_piece(pieces, tmp_path):
    found = run(pieces, tmp_path, pieces.Piece("a"), timeout=0.5, desk=pieces.slow_bench)
    assert found["a"].status == "ok"


def test_a_record_that_waited_for_the_driver_is_not_late(pieces, tmp_path):
    local = Local(tmp_path, 2, timeout=0.5, desk=pieces.bench).run(pieces.Pieces(*map(pieces.Piece, "abcdef")))
    first = next(local)
    time.sleep(1.0)  # a driver that stores slowly
    assert {record.status for record in (first, *local)} == {"ok"}


def test_signals_for_the_whole_group_are_the_drivers_business(pieces, tmp_path):
    found = run(pieces, tmp_path, pieces.Piece("a", "be_asked_to_end"))
    assert found["a"].status == "ok"


def test_an_error_outside_of_components_is_a_failed_record_with_its_traceback(pieces, tmp_path):
    found = run(pieces, tmp_path, pieces.Piece("a", "fail"), pieces.Unreadable("b"), pieces.Piece("c"))
    assert found["a"].reason == "RuntimeError: the desk broke"
    assert found["b"].reason == "ImportError: no module named 'elsewhere'"
    assert all("Traceback" in found[key].traceback for key in "ab")
    assert found["c"].status == "ok"


def test_a_worker_that_cannot_begin_is_replaced(pieces, tmp_path):
    found = run(pieces, tmp_path, pieces.Piece("a"), desk=pieces.once_broken_bench)
    assert found["a"].status == "ok"


def test_workers_that_never_begin_end_the_run(pieces, tmp_path):
    with pytest.raises(AssayError, match=r"end before they can begin \(exit code 7\)"):
        run(pieces, tmp_path, pieces.Piece("a"), workers=2, desk=pieces.broken_bench)


def test_workers_outlive_the_thread_that_started_them(pieces, tmp_path):
    work = [pieces.Piece("a"), pieces.Piece("b", "wait"), pieces.Piece("c")]
    local = Local(tmp_path, 1, desk=pieces.bench).run(pieces.Pieces(*work))
    first = []
    thread = threading.Thread(target=lambda: first.append(next(local)))
    thread.start()
    thread.join()
    until((tmp_path / "b.pid").exists, "the second piece has begun")
    (tmp_path / "go").touch()
    assert [record.status for record in (*first, *local)] == ["ok"] * 3


def test_a_run_that_is_given_up_leaves_no_worker(pieces, tmp_path):
    local = Local(tmp_path, 2, desk=pieces.bench).run(pieces.Pieces(pieces.Piece("a"), pieces.Piece("b", "spin")))
    next(local)
    until((tmp_path / "b.pid").exists, "the second piece has begun")
    local.close()
    assert gone(int((tmp_path / "b.pid").read_text()))
    assert multiprocessing.active_children() == []


DRIVER = """
import sys, threading
from pathlib import Path
from pieces import Piece, Pieces, bench
from assay.engine.execute.local import Local

def drive():
    for record in Local(Path(sys.argv[1]), 2, desk=bench).run(Pieces(Piece("a", sys.argv[2]), Piece("b", sys.argv[2]))):
        print(record)

if __name__ == "__main__":
    if sys.argv[3] == "main":
        drive()
    else:
        thread = threading.Thread(target=drive)
        thread.start()
        thread.join()
"""


@pytest.fixture
def start(tmp_path):
    """Starts a script that drives workers. Nothing of it survives the test, not even where the test fails."""
    path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    drivers = []

    def started(script, *arguments):
        (tmp_path / "driver.py").write_text(script)
        command = [sys.executable, str(tmp_path / "driver.py"), str(tmp_path), *arguments]
        drivers.append(subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path}, start_new_session=True))
        return drivers[-1]

    yield started
    for driver in drivers:
        with suppress(ProcessLookupError):
            os.killpg(driver.pid, signal.SIGKILL)  # the group of the session, in which workers are, too
        driver.wait()


def busy(tmp_path):
    """The workers that have begun, as soon as both have."""
    until(lambda: len(list(tmp_path.glob("*.pid"))) == 2, "both workers are busy")
    return [int(path.read_text()) for path in tmp_path.glob("*.pid")]


@pytest.mark.parametrize(
    ("number", "action", "thread"),
    [
        (signal.SIGKILL, "spin", "main"),
        (signal.SIGTERM, "spin", "main"),
        (signal.SIGHUP, "spin", "main"),
        (signal.SIGKILL, "spin", "other"),  # only the worker's own thread notices
        pytest.param(
            *(signal.SIGKILL, "spin_in_c", "main"),  # only the system can end it
            marks=pytest.mark.skipif(sys.platform != "linux", reason="needs prctl"),
        ),
    ],
)
def test_workers_end_with_their_driver(start, tmp_path, number, action, thread):
    driver = start(DRIVER, action, thread)
    workers = busy(tmp_path)
    assert not any(map(gone, workers))
    driver.send_signal(number)
    assert driver.wait(PATIENCE) == -number
    until(lambda: all(map(gone, workers)), "the workers are gone")


def test_an_interrupt_of_the_whole_group_ends_driver_and_workers(start, tmp_path):
    driver = start(DRIVER, "spin", "main")
    workers = busy(tmp_path)
    os.killpg(driver.pid, signal.SIGINT)
    assert driver.wait(PATIENCE) != 0
    assert all(map(gone, workers))


ABANDONED = """
import sys
from pathlib import Path
from pieces import Piece, Pieces, bench
from assay.engine.execute.local import Local

if __name__ == "__main__":
    work = [Piece("first"), Piece("a", "spin"), Piece("b", "spin")]
    records = Local(Path(sys.argv[1]), 2, desk=bench).run(Pieces(*work))
    print(next(records))
"""


def test_a_driver_that_forgets_its_run_ends_and_its_workers_too(start, tmp_path):
    driver = start(ABANDONED)
    assert driver.wait(PATIENCE) == 0
    until(lambda: all(gone(int(path.read_text())) for path in tmp_path.glob("*.pid")), "the workers are gone")
