"""A run may be killed at any moment; running again ends in the store of a run that was not.

Half of the kills strike at named fault points (half an array file written; array in place, record not; half a record
written), half at arbitrary moments, all with SIGKILL to the whole process group.
"""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from assay.store.store import Store

STUDY = """
samples = 40
block = 4
seeds = [0, 1]
gallery = 0
environments = ["counted:Ward"]
methods = ["counted:Slow(seconds=0.02)", "counted:Slow(name='b', seconds=0.02)", "counted:Fits", "random_map"]
metrics = ["counted:Probes", "f1"]
"""
POINTS = ("array.partial", "array.written", "record.partial")


def command(folder, workers):
    script = f"from assay.cli.main import main; import sys; sys.argv[1:] = {_arguments(folder, workers)!r}; main()"
    return [sys.executable, "-c", script]


def _arguments(folder, workers):
    return ["run", str(folder / "study.toml"), "--store", str(folder / "s"), "--workers", str(workers), "--json"]


def killed(folder, workers, fault, delay):
    """Start, and be killed: at a fault point, or ``delay`` seconds after the first record. True if it was."""
    environment = {**os.environ, **({"ASSAY_FAULT": fault} if fault else {})}
    process = subprocess.Popen(
        command(folder, workers),
        env=environment,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    if not fault:
        _wait_for_work(folder, process)
        time.sleep(delay)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    _, errors = process.communicate(timeout=120)
    assert process.returncode in (0, -signal.SIGKILL), errors.decode()
    return process.returncode != 0


def _wait_for_work(folder, process):
    def size():
        return sum(path.stat().st_size for path in (folder / "s").glob("logs/*"))

    before, end = size(), time.monotonic() + 60
    while process.poll() is None and size() == before and time.monotonic() < end:
        time.sleep(0.01)


def complete(folder):
    """(method, first sample, seed) of every trial of ``Slow`` that the store has."""
    if not (folder / "s" / "store.json").exists():
        return set()
    store = Store.open(folder / "s", create=False)
    trials = [record.data for record in store.records("trial") if "Slow" in str(record.data.get("method"))]
    return {(_name(data["method"]), data["block"][0], data["seed"]) for data in trials}


def _name(method):
    return "b" if "'b'" in method else "slow"


def attributed(lines):
    """The same of what the diary says was computed."""
    words = [line.split() for line in lines if line.startswith("attribute")]
    return [(name, int(start), int(seed)) for _, name, start, seed in words]


def torture(folder, kills, workers, finish, ward, seed=0):
    (folder / "study.toml").write_text(STUDY)
    diary = folder / "diary.txt"
    from assay.study.file import load

    study = load(folder / "study.toml")
    assert sum(-(-place.samples // place.block) for place, _, _ in study.cells()) >= 60
    moments, struck = random.Random(seed), 0
    for number in range(kills):
        known, before = complete(folder), len(diary.read_text().splitlines()) if diary.exists() else 0
        fault = f"{POINTS[number % 3]}:{moments.randint(1, 12)}" if number < kills - kills // 2 + 1 else ""
        struck += killed(folder, workers, fault, moments.uniform(0, 0.25))
        again = set(attributed(diary.read_text().splitlines()[before:] if diary.exists() else [])) & known
        assert not again, f"computed although complete: {again}"
    interrupted = finish(study, folder / "s", 0)
    reference = finish(study, folder / "reference", 0)
    assert interrupted == reference
    assert Store.open(folder / "s", create=False).verify() == []
    return struck


def test_a_run_killed_four_times_ends_like_one_that_was_not(tmp_path, finish, ward):
    assert torture(tmp_path, 4, 1, finish, ward) >= 3


@pytest.mark.full
@pytest.mark.timeout(900)
@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_killed_at_twenty_moments_ends_like_one_that_was_not(tmp_path, finish, ward, workers):
    assert torture(tmp_path, 20, workers, finish, ward, seed=workers) >= 15
