"""Other runs that write into the same store now: what they have done and what they are computing.

Runs share no file and no lock, and compare no clocks. Each one announces what it computes in a file of its own
(store/running.py) and reads the files and logs of the others. A claim is made by writing one's own file first and
reading the others' files then: of two runs that claim the same artifact, at least one sees the other and steps back.
(Where a network file system shows changes late, both may go ahead: they compute the same bytes twice.)
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from assay.core.records import Record
from assay.store.log import lines
from assay.store.running import BEAT, RunningRun, RunningRuns, this_run
from assay.store.store import Store

GREETING = 3.0  # most seconds to wait until a running run knows of this one
_LOOK = 0.05  # seconds between two looks while waiting for that


class OtherRuns:
    """The other runs, as long as this run is inside the context. Its methods may be called in any thread."""

    def __init__(self, store: Store, run_id: str, study: str) -> None:
        self._store = store
        self._files = RunningRuns(store.root, run_id)
        self._own = this_run(run_id, study)
        self._computing: set[str] = set()
        self._stored: set[str] = set()  # of these, those whose records are in the log
        self._alive: dict[str, RunningRun] = {}
        self._wanted: frozenset[str] | None = None  # keys of which answers are kept; None: of all
        self._answers: dict[str, Record] = {}
        self._lock = threading.RLock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> OtherRuns:
        self._store.refresh()
        self._offsets = self._store.index.offsets()  # a plan made from now on knows at least these lines
        self.look()
        self._write()
        self._thread.start()
        try:
            self._greet()
        except BaseException:  # an interrupt
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        try:
            self._store.flush()  # others must find the records before the claims go
        finally:
            self._files.remove(self._own.run)

    def follow(self, keys: Iterable[str]) -> None:
        """Keep answers to these keys only."""
        with self._lock:
            self._wanted = frozenset(keys)
            self._answers = {key: record for key, record in self._answers.items() if key in self._wanted}

    def claim(self, key: str) -> bool:
        """Whether this run is to compute the artifact: no other one has done it or is computing it."""
        with self._lock:
            if self._alive and not self._is_taken(key):
                self._computing.add(key)
                self._write()
                self.look()
            if self._is_taken(key):
                self._computing.discard(key)
                return False
            self._computing.add(key)
            return True

    def answer(self, key: str) -> Record | None:
        """Another run's answer, ok or skipped, with its arrays in place."""
        with self._lock:
            return self._answers.get(key)

    def note_stored(self, key: str) -> None:
        """The record of a claimed artifact is in this run's log now."""
        with self._lock:
            self._stored.add(key)

    def look(self) -> None:
        """Read what the other runs say now: first their files, then their logs, which have what has left a file."""
        with self._lock:
            before, self._alive = self._alive, {run.run: run for run in self._files.alive()}
            for run_id in before.keys() | self._alive.keys():
                self._read_log(run_id)
            if before.keys() != self._alive.keys():
                self._write()

    def computing(self, keys: Iterable[str]) -> list[RunningRun]:
        """The runs that compute any of these artifacts."""
        with self._lock:
            return [run for run in self._alive.values() if not set(keys).isdisjoint(run.computing)]

    def _is_taken(self, key: str) -> bool:
        return key in self._answers or any(key in run.computing for run in self._alive.values())

    def _read_log(self, run_id: str) -> None:
        path = self._store.root / "logs" / f"{run_id}.jsonl"
        with suppress(OSError):
            for line in lines(path, self._offsets.get(run_id, 0)):
                self._offsets[run_id] = line.end
                if line.record is not None and self._is_answer(line.record):
                    self._answers[line.record.key] = line.record

    def _is_answer(self, record: Record) -> bool:
        return (
            (self._wanted is None or record.key in self._wanted)
            and record.status != "failed"
            and (not record.arrays or self._store.arrays.has(record.arrays))
        )

    def _write(self) -> None:
        self._own = replace(
            self._own, count=self._own.count + 1, computing=tuple(self._computing), sees=tuple(self._alive)
        )
        self._files.write(self._own)

    def _beat(self) -> None:
        while not self._ended.wait(BEAT):
            with self._lock:
                stored = set(self._stored)
            with suppress(OSError):
                if stored:
                    self._store.flush()
                with self._lock:
                    self._computing -= stored
                    self._stored -= stored
                    self.look()
                    self._write()

    def _greet(self) -> None:
        """Wait until the running runs know of this one: from then on, they look before they begin an artifact."""
        deadline = time.monotonic() + GREETING
        while any(self._own.run not in run.sees for run in self._alive.values()) and time.monotonic() < deadline:
            time.sleep(_LOOK)
            self.look()
        if known := [run.name for run in self._alive.values() if self._own.run in run.sees]:
            others = f"another run ({known[0]}) is" if len(known) == 1 else f"other runs ({'; '.join(known)}) are"
            verb = "it has done or is" if len(known) == 1 else "they have done or are"
            say(f"{others} writing into this store: what {verb} computing is not computed again.")


def say(sentence: str) -> None:
    print(f"assay: {sentence}", file=sys.stderr, flush=True)
