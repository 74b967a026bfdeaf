"""The driver of a run on a Dask cluster: it hands out tasks and collects records.

A task is an artifact with the records that it needs; its result is a record. Short artifacts go together in a bundle,
since handing out a task takes milliseconds of the driver's core. Arrays are written to the store's folder where every
worker sees it. Otherwise they travel through Dask: those that many tasks read (models, fits, probes) are sent to the
cluster once and stay with the workers that use them.

A bounded number of bundles is under way: neither the driver nor the scheduler ever holds a whole study.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from typing import Any

import distributed
from distributed.client import FutureCancelledError
from distributed.scheduler import KilledWorker

from assay.core.records import Record
from assay.engine.artifacts.outcome import failed_record
from assay.engine.execute.dask_worker import LATE, Job, compute
from assay.engine.execute.local import KILLED, timeout_reason
from assay.engine.execute.queue import Queue
from assay.engine.execute.worker import Task
from assay.engine.store.store import Store

AHEAD = 2  # bundles under way per thread of the cluster: one is computed, the next one waits beside it
BUNDLE_SECONDS = 0.4  # after which nothing is added to a bundle
BUNDLE_SIZE = 32  # artifacts that it may have
HELD = 64  # arrays that the cluster keeps for tasks to come, where they travel
LOOK = 5.0  # seconds between two looks at the size of the cluster

Bundle = tuple[Task, ...]  # artifacts that are handed out as one task of Dask


@dataclass(eq=False)
class Driver:
    """Hands out tasks and collects records, as long as the scheduler lives."""

    client: distributed.Client
    job: Job
    queue: Queue
    waiting: list[Task]  # to be handed out before the queue's
    running: dict[Any, tuple[Bundle, Any]] = field(default_factory=dict)  # a bundle and its future, by the future's key
    alone: set[str] = field(
        default_factory=set
    )  # keys of artifacts to be computed alone, because their bundle failed or their workers died
    late: set[str] = field(default_factory=set)  # keys of artifacts that took too long
    held: OrderedDict[str, Any] = field(default_factory=OrderedDict)  # futures of arrays in the cluster, by digest
    last_look: float = -LOOK  # at the size of the cluster, in seconds of the monotonic clock
    room: int = 1  # bundles that may be under way

    def records(self) -> Iterator[Record]:
        self.client.subscribe_topic(LATE, self._note_late)
        self.store = Store(self.job.root)
        self.completed = distributed.as_completed(loop=self.client.loop)
        self._hand_out()
        for future in self.completed:
            bundle, _ = self.running.pop(future.key)
            records = self._records(future, bundle)
            for record in records:
                self.queue.add_record(record)
            yield from records  # first of all: what comes next may notice that the scheduler is gone
            self._hand_out()

    @property
    def unfinished(self) -> list[Task]:
        return [*(task for bundle, _ in self.running.values() for task in bundle), *self.waiting]

    def stop(self) -> None:
        """Forget what is still under way."""
        with suppress(Exception):  # the scheduler may be gone
            self.client.cancel([future for _, future in self.running.values()], force=True)

    def _hand_out(self) -> None:
        if time.monotonic() - self.last_look >= LOOK:
            self.last_look, threads = time.monotonic(), sum(self.client.nthreads().values())
            self.room, self.resources = max(1, AHEAD * threads), self._resources()
        while len(self.running) < self.room:
            bundle = self._next_bundle()
            if not bundle:
                return
            try:
                self._submit(bundle)
            except Exception:
                self.waiting += bundle
                raise

    def _next_bundle(self) -> Bundle:
        tasks: list[Task] = []
        seconds = 0.0
        while seconds < BUNDLE_SECONDS and len(tasks) < BUNDLE_SIZE:
            task = self.waiting.pop() if self.waiting else self.queue.next()
            if task is None:
                break
            if tasks and task[0].key in self.alone:
                self.waiting.append(task)
                break
            tasks.append(task)
            seconds += self._expected_seconds(task)
        return tuple(tasks)

    def _expected_seconds(self, task: Task) -> float:
        """Infinite where it is not known, or where the artifact is to be computed alone: nothing is added to it."""
        cost = self.queue.costs.of_group(task[0].group)
        return inf if cost is None or task[0].key in self.alone else cost.wall

    def _submit(self, bundle: Bundle) -> None:
        artifact = bundle[0][0]
        digests = {record.arrays: record for _, records in bundle for record in records.values() if record.arrays}
        arrays = {digest: self._hold(record) for digest, record in digests.items()} if self.job.carries else {}
        size = (
            "alone" if artifact.key in self.alone else len(bundle)
        )  # Dask would answer an old key with the old failure
        key = f"assay-{artifact.kind}-{artifact.key}-{size}-{self.job.token}"
        future = self.client.submit(compute, bundle, self.job, arrays, key=key, pure=False, resources=self.resources)
        self.running[future.key] = bundle, future
        self.completed.add(future)

    def _hold(self, record: Record) -> Any:
        """The future of a record's arrays, which are handed to the cluster once."""
        if record.arrays not in self.held:
            self.held[record.arrays] = self.client.scatter(self.store.arrays.get_bytes(record.arrays), hash=False)
            while len(self.held) > HELD:
                self.held.popitem(last=False)
        self.held.move_to_end(record.arrays)
        return self.held[record.arrays]

    def _resources(self) -> dict[str, float]:
        """What a task asks for, of what workers declare (``dask worker --resources "GPU=1"``)."""
        machine = self.job.machine
        wanted = {"CPU": machine.threads, "MEMORY": machine.memory, "GPU": int(machine.device.startswith("cuda"))}
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        declared = {name for worker in workers for name in worker.get("resources", {})}
        return {name: float(amount) for name, amount in wanted.items() if name in declared and amount}

    def _records(self, future: Any, bundle: Bundle) -> list[Record]:
        """The records of a bundle that are final. Tasks that have to be handed out again are added to ``waiting``."""
        if any(artifact.key in self.late for artifact, _ in bundle):
            self.waiting += [task for task in bundle if task[0].key not in self.late]
            reason = timeout_reason(self.job.timeout or 0.0)
            return [failed_record(a.kind, a.key, reason) for a, _ in bundle if a.key in self.late]
        try:
            results = future.result()
        except (FutureCancelledError, OSError):
            self.waiting += bundle
            if self.client.status == "running":  # a restarted scheduler, which does not know our tasks
                self.last_look = -LOOK
                return []
            raise
        except Exception as error:
            return self._failed(bundle, error)
        for _, data in results:
            if data:
                self.store.arrays.put_bytes(data)
        return [record for record, _ in results]

    def _failed(self, bundle: Bundle, error: Exception) -> list[Record]:
        """The failed record of one artifact. Artifacts of a larger bundle are tried again, each alone; so is one whose
        workers died, since Dask also counts workers at which it only waited."""
        artifact, died = bundle[0][0], isinstance(error, KilledWorker)
        if len(bundle) > 1 or (died and artifact.key not in self.alone):
            self.waiting += bundle
            self.alone |= {artifact.key for artifact, _ in bundle}
            return []
        reason = f"{type(error).__name__}: {error}"
        if died:
            reason = f"several workers died while they computed this: {error}{KILLED}"
        return [failed_record(artifact.kind, artifact.key, reason)]

    def _note_late(self, event: tuple[float, dict[str, str]]) -> None:
        """Called in the client's own thread."""
        _, message = event
        if message["token"] == self.job.token:
            self.late.add(message["key"])
            for bundle, future in list(self.running.values()):
                if any(artifact.key == message["key"] for artifact, _ in bundle):
                    future.cancel(force=True)
