"""Computing artifacts on a Dask cluster: one that is running, or one that is started on this machine for the run.

``engine/execute/dask_driver.py`` hands out the tasks, ``engine/execute/dask_worker.py`` computes them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

import dask.config
import distributed
from distributed.comm.core import CommClosedError

from assay.core.errors import AssayError
from assay.core.heap import start_without_cache
from assay.core.machine import Machine
from assay.core.records import Record
from assay.engine.execute.dask_driver import Driver
from assay.engine.execute.dask_worker import Job, package_version, sees
from assay.engine.execute.queue import Queue
from assay.engine.execute.worker import Task

CONNECT = 30.0  # seconds to wait for a scheduler, and for its first worker
ATTEMPT = 5.0  # seconds for one attempt
LOST = 3  # times that a run goes on after its scheduler was lost
# Dask looks at its own processes up to 100 times a second. A scheduler and two workers without tasks take 13 % of a
# core for it; with these settings 3 %.
LOOKS_SELDOM = {
    "distributed.admin.tick.interval": "1s",
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.worker.profile.enabled": False,
}


@dataclass(frozen=True)
class Dask:
    """A Dask cluster."""

    root: Path  # of the store
    workers: int = 1  # of a cluster that is started here
    machine: Machine = Machine()
    timeout: float | None = None  # seconds for one artifact
    address: str = ""  # of a running scheduler, or its scheduler file; empty: a cluster is started on this machine

    def run(self, queue: Queue) -> Iterator[Record]:
        """The records of all artifacts, in any order. Goes on with another scheduler at the same address if the first
        one is lost."""
        if not queue:
            return
        unfinished: list[Task] = []
        for _ in range(LOST + 1):
            with self._client() as client:
                try:
                    driver = Driver(client, self._job(client), queue, unfinished)
                except CommClosedError:
                    continue
                try:
                    yield from driver.records()
                    return
                except Exception as error:
                    # A call may notice that the scheduler is gone before the client does.
                    if client.status == "running" and not isinstance(error, CommClosedError):
                        raise
                    unfinished = driver.unfinished
                finally:
                    driver.stop()
        raise AssayError(f"the Dask scheduler was lost {LOST + 1} times. What is done is kept: run it again to go on.")

    def _job(self, client: distributed.Client) -> Job:
        root, token = self.root.resolve(), token_hex(8)
        mark = root / f".shared-{token}"  # another machine may have another folder of this name
        mark.touch()
        try:
            carries = not all(client.run(sees, str(mark)).values())
        finally:
            mark.unlink()
        return Job(root, self.machine, self.timeout, package_version(), token, carries)

    def _scheduler(self) -> dict[str, str]:
        """The scheduler's address, or its file, which may take a moment to appear."""
        if not self.address.endswith(".json"):
            return {"address": self.address}
        deadline = time.monotonic() + CONNECT
        while not Path(self.address).is_file():
            if time.monotonic() > deadline:
                raise TimeoutError("there is no such scheduler file")
            time.sleep(0.1)
        return {"scheduler_file": self.address}

    def _connect(self, cluster: distributed.LocalCluster | None) -> distributed.Client:
        """A client. A scheduler file is read again at each attempt: the first one may name a scheduler that is gone."""
        deadline = time.monotonic() + CONNECT
        while True:
            where = self._scheduler() if cluster is None else {"address": cluster}
            try:
                return distributed.Client(**where, timeout=min(ATTEMPT, CONNECT), set_as_default=False)
            except OSError:
                if time.monotonic() > deadline:
                    raise

    @contextmanager
    def _client(self) -> Iterator[distributed.Client]:
        with ExitStack() as scope:
            try:
                cluster = None if self.address else scope.enter_context(_cluster(self.workers))
                client = scope.enter_context(self._connect(cluster))
                client.wait_for_workers(1, timeout=CONNECT)
            except (OSError, TimeoutError, ValueError) as error:
                raise AssayError(
                    f"no Dask cluster at {self.address or 'this machine'}: {error}. Start 'dask scheduler' and 'dask "
                    "worker', or leave --address out to start a cluster on this machine."
                ) from error
            yield client


def _cluster(workers: int) -> distributed.LocalCluster:
    """A cluster on this machine, which listens on loopback only and has no dashboard."""
    start_without_cache()
    with dask.config.set(LOOKS_SELDOM):
        return distributed.LocalCluster(
            n_workers=max(1, workers),
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",  # any free port: another cluster may have the usual one
            scheduler_kwargs={"dashboard": False},
            silence_logs="ERROR",
        )
