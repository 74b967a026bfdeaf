"""Kill the process at each fault point: what was acknowledged stays, and running again completes the store."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from assay.engine.store.fault_points import fault_point
from assay.engine.store.store import Store

RUN = """
import sys
import numpy as np
from assay.core.records import Record
from assay.engine.store.store import Store, new_run_id
store = Store.open(sys.argv[1])
with store.writer(new_run_id()):
    for n in range(5):
        if not store.has(f"k{n}"):
            digest = store.save({"x": np.full(100, n, dtype=np.float64)})
            store.put(Record("trial", f"k{n}", "ok", arrays=digest, data={"n": n}))
            print(f"k{n}", flush=True)
"""


def run(folder: Path, fault: str = "") -> tuple[int, list[str]]:
    """The exit code, and the keys of the records that the process knew to be kept."""
    environment = {"PYTHONPATH": ":".join(sys.path), **({"ASSAY_FAULT": fault} if fault else {})}
    command = [sys.executable, "-c", RUN, str(folder)]
    done = subprocess.run(command, env=environment, start_new_session=True, stdout=subprocess.PIPE, timeout=60)
    return done.returncode, done.stdout.decode().split()


def partial(folder: Path) -> list[Path]:
    return list(folder.rglob("*.partial-*"))


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("complete")
    assert run(folder) == (0, [f"k{n}" for n in range(5)])
    return folder


@pytest.mark.parametrize("count", [1, 3, 5])
@pytest.mark.parametrize("point", ["array.partial", "array.written", "record.partial"])
def test_a_killed_run_keeps_what_it_acknowledged_and_is_completed_by_the_next(
    tmp_path: Path, complete: Path, point: str, count: int
) -> None:
    code, acknowledged = run(tmp_path, f"{point}:{count}")
    assert code == -signal.SIGKILL
    assert acknowledged == [f"k{n}" for n in range(count - 1)]
    store = Store.open(tmp_path, create=False)
    assert [record.key for record in store.records()] == acknowledged
    assert store.verify() == []
    assert run(tmp_path) == (0, [f"k{n}" for n in range(count - 1, 5)])
    store.refresh()
    assert store.dump() == Store.open(complete).dump()
    assert store.verify() == []


@pytest.mark.parametrize("count", [1, 4])
def test_half_an_array_is_a_temporary_file_that_is_swept(tmp_path: Path, count: int) -> None:
    run(tmp_path, f"array.partial:{count}")
    (left,) = partial(tmp_path)
    assert 0 < left.stat().st_size < 800
    store = Store.open(tmp_path, create=False)
    assert len(list(store.arrays.digests())) == count - 1
    assert store.remove_waste() == 0
    assert store.remove_waste(older=0.0) == 1
    assert partial(tmp_path) == []
    assert store.verify() == []


def test_an_array_in_place_without_a_record_is_found_again_by_the_next_run(tmp_path: Path) -> None:
    run(tmp_path, "array.written:3")
    store = Store.open(tmp_path, create=False)
    before = {digest: store.arrays.path(digest).stat().st_ino for digest in store.arrays.digests()}
    assert (len(before), len(store.records())) == (3, 2)
    run(tmp_path)
    assert (
        before.items() <= {digest: store.arrays.path(digest).stat().st_ino for digest in store.arrays.digests()}.items()
    )


def test_half_a_record_is_half_a_line(tmp_path: Path) -> None:
    run(tmp_path, "record.partial:2")
    (log,) = (tmp_path / "logs").iterdir()
    first, torn = log.read_bytes().split(b"\n")
    assert abs(len(torn) - len(first) / 2) <= 1


def test_an_unreached_point_changes_nothing(tmp_path: Path, complete: Path) -> None:
    assert run(tmp_path, "array.written:6")[0] == 0
    assert Store.open(tmp_path).dump() == Store.open(complete).dump()


def test_without_the_variable_a_fault_point_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASSAY_FAULT", raising=False)
    fault_point("array.written", lambda: pytest.fail("did the first half"))
