"""A folder in which runs of a tiny study are killed: the study, its uninterrupted result, and runs as processes."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from functools import cached_property
from pathlib import Path

from assay.core.machine import Resources
from assay.engine.execute.run import run
from assay.engine.store.log import lines, logs
from assay.engine.store.store import Store
from assay.studies.file import load

COMPONENTS = Path(__file__).parents[1] / "journeys"  # the folder of counted.py, which the study names
CLOCK = Path(__file__).parent / "clock"
ARTIFACTS = 64  # of the study
PATIENCE = 120.0  # seconds until a run that does not end is a fault

STUDY = """
samples = 8
block = 4
seeds = [0, 1]
gallery = 0
environments = ["counted:Ward"]
methods = ["counted:Slow(seconds=0.02)", "counted:Slow(name='b', seconds=0.02)", "counted:Fits", "random_map"]
metrics = ["counted:Probes", "f1"]
"""


class Arena:
    """Where one scenario takes place. Leaving the context kills what is still running."""

    def __init__(self, folder, say=lambda text: None):
        self.folder, self.say = folder, say
        self.folder.mkdir(parents=True, exist_ok=True)
        self.study = folder / "study.toml"
        self.study.write_text(STUDY)
        self.processes = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            kill(process)

    @cached_property
    def reference(self):
        """What a run that nobody disturbs leaves behind."""
        return self.dump(self.finish("reference"))

    def root(self, store):
        return self.folder / store

    def environment(self, store):
        """Of a process; every store has a cache of models of its own."""
        path = os.pathsep.join([str(CLOCK), str(COMPONENTS), os.environ.get("PYTHONPATH", "")])
        files = {"DIARY": str(self.folder / "diary.txt"), "ASSAY_CACHE": str(self.folder / f"{store}.cache")}
        return {**os.environ, **files, "OMP_NUM_THREADS": "1", "PYTHONPATH": path}

    def start(self, store, *options, fault="", clock=0.0, prepare=None):
        """``assay run`` in a process group of its own."""
        extra = {**({"ASSAY_FAULT": fault} if fault else {}), **({"ASSAY_CLOCK": str(clock)} if clock else {})}
        command = [sys.executable, "-m", "assay.cli.main", "run", str(self.study), "--store", str(self.root(store))]
        with (self.folder / f"{len(self.processes)}.err").open("wb") as errors:
            process = subprocess.Popen(
                [*command, "--json", *options],
                env={**self.environment(store), **extra},
                start_new_session=True,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                preexec_fn=prepare,
            )
        process.errors = Path(errors.name)
        self.processes.append(process)
        return process

    def finish(self, store, workers=0):
        """Run to the end, in this process or in workers; returns the store's folder."""
        before = {name: os.environ.get(name) for name in ("DIARY", "ASSAY_CACHE")}
        try:
            os.environ.update({name: self.environment(store)[name] for name in before})
            run(load(self.study), self.root(store), Resources(workers))
        finally:
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})
        return self.root(store)

    def dump(self, root):
        store = Store.open(root, create=False)
        try:
            return store.dump()
        finally:
            store.close()


def kill(process):
    """The whole process group, by SIGKILL. True if it was still running."""
    running = process.poll() is None
    if running:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(PATIENCE)
    return running


def ended(process):
    """The exit code of a run that ends by itself."""
    try:
        return process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        kill(process)
        raise AssertionError(f"a run did not end within {PATIENCE:g} s") from None


def answers(root):
    """How often the logs have an answer to each key."""
    return Counter(record.key for record in _records(root) if record.kind != "run" and record.status != "failed")


def failures(root):
    """The reasons of the failed records in the logs."""
    return [record.reason for record in _records(root) if record.status == "failed"]


def _records(root):
    records = (line.record for path in logs(root / "logs").values() for line in lines(path))
    return [record for record in records if record]


def wait_for_records(root, process, more=1):
    """Until the logs have this many more lines than now, or the process has ended. False if it has."""
    wanted, deadline = _lines(root) + more, time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < deadline:
        if _lines(root) >= wanted:
            return True
        time.sleep(0.005)
    return False


def _lines(root):
    return sum(path.read_bytes().count(b"\n") for path in logs(root / "logs").values())
