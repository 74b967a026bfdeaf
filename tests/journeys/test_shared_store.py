"""Runs into one store wait for each other, say so, and end in the store of a single run."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

from assay.engine.store.log import logs, read
from assay.engine.store.store import Store

SENTENCE = "which writes into this store."
STUDY = """
samples = 24
block = 4
gallery = 0
environments = ["counted:Ward"]
methods = ["{method}", "counted:Fits"]
metrics = ["counted:Probes"]
"""
GATE = """
import os, time
from dataclasses import dataclass

from counted import note

@dataclass(frozen=True)
class Gate:
    '''The gradient; a process that is told to hang never gets it.'''

    def __call__(self, query):
        note("gate")
        time.sleep(600 if "HANG" in os.environ else 0)
        return query.gradient(query.x)
"""


def start(folder, workers=0, **environment):
    arguments = ["run", str(folder / "study.toml"), "--store", str(folder / "s"), "--workers", str(workers), "--json"]
    script = f"from assay.cli.main import main; import sys; sys.argv[1:] = {arguments!r}; main()"
    return subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, **environment},
    )


def answers(folder):
    """How many answers the logs have for each key."""
    records = [record for path in logs(folder / "s" / "logs").values() for record in read(path).records]
    return Counter(record.key for record in records if record.kind != "run" and record.status != "failed")


def loaded(folder):
    from assay.studies.file import load

    return load(folder / "study.toml")


@pytest.mark.parametrize("workers", [(0, 0), pytest.param((1, 2), marks=pytest.mark.full)])
def test_two_runs_at_the_same_time_compute_everything_once(tmp_path, finish, workers):
    (tmp_path / "study.toml").write_text(STUDY.format(method="counted:Slow(seconds=1.0)"))
    both = [start(tmp_path, count) for count in workers]
    said = [process.communicate(timeout=120)[1].decode() for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert any(SENTENCE in text for text in said)
    assert set(answers(tmp_path).values()) == {1}
    assert sorted(len(read(path).records) for path in logs(tmp_path / "s" / "logs").values())[0] == 1  # all was there
    assert Store.open(tmp_path / "s", create=False).dump() == finish(loaded(tmp_path), tmp_path / "alone")


def test_a_run_that_waits_goes_on_at_once_when_the_other_one_is_killed(tmp_path, finish, monkeypatch):
    (tmp_path / "gated.py").write_text(GATE)
    (tmp_path / "study.toml").write_text(STUDY.format(method="gated:Gate"))
    monkeypatch.syspath_prepend(str(tmp_path))
    hanging = start(tmp_path, HANG="1", PYTHONPATH=f"{tmp_path}:{os.environ['PYTHONPATH']}")
    killed = []

    def kill(sentence):
        killed.append((sentence, time.monotonic()))
        os.killpg(hanging.pid, signal.SIGKILL)
        hanging.wait()

    monkeypatch.setattr("assay.engine.execute.run._say", kill)
    diary, deadline = tmp_path / "diary.txt", time.monotonic() + 100
    while not (diary.exists() and "gate" in diary.read_text()) and time.monotonic() < deadline:
        assert hanging.poll() is None
        time.sleep(0.05)
    before = answers(tmp_path)
    dump = finish(loaded(tmp_path), tmp_path / "s")
    ((sentence, moment),) = killed
    assert time.monotonic() - moment < 30  # not the silence
    assert f"process {hanging.pid}), {SENTENCE}" in sentence
    assert before
    assert set(answers(tmp_path).values()) == {1}
    assert dump == finish(loaded(tmp_path), tmp_path / "alone")
    for pipe in (hanging.stdout, hanging.stderr):
        pipe.close()
