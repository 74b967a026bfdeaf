"""Pieces of work that behave and misbehave, and the desk that does them. Imports no torch: workers start at once."""

import ctypes
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from assay.core.heap import resident
from assay.core.records import Record

hoarded = []


@dataclass(frozen=True)
class Piece:
    """Does what its ``action`` says; makes one record."""

    key: str
    action: str = "finish"
    needs: tuple[str, ...] = ()
    kind: str = "trial"


class Unreadable(Piece):
    """Arrives in a worker that cannot read it."""

    def __reduce__(self):
        return (_refuse, ())


def _refuse():
    raise ImportError("no module named 'elsewhere'")


class Pieces:
    """The queue of the tests: in order, each when its needs are known."""

    def __init__(self, *pieces):
        self.waiting = list(pieces)
        self.records = {}

    def __len__(self):
        return len(self.waiting)

    def add_record(self, record):
        self.records[record.key] = record

    def next(self):
        for piece in self.waiting:
            if all(key in self.records for key in piece.needs):
                self.waiting.remove(piece)
                return piece, {key: self.records[key] for key in piece.needs}
        return None


class Bench:
    """A desk."""

    def __init__(self, root):
        self.root = root

    def compute(self, piece, records):
        note = self.root / f"{piece.key}.pid"
        note.with_suffix(".tmp").write_text(str(os.getpid()))
        note.with_suffix(".tmp").rename(note)
        getattr(self, piece.action)()
        data = {"pid": os.getpid(), "needs": {key: record.status for key, record in records.items()}}
        return Record(piece.kind, piece.key, "ok", data=data)

    def finish(self):
        pass

    def hoard(self):
        hoarded.append(b"x" * (2 * resident()))

    def spin(self):
        while True:
            pass

    def spin_in_c(self):
        ctypes.PyDLL(None).sleep(600)  # a function of a PyDLL keeps the interpreter's lock

    def wait(self):
        while not (self.root / "go").exists():
            time.sleep(0.01)

    def be_killed(self):
        os.kill(os.getpid(), signal.SIGKILL)

    def crash(self):
        os.kill(os.getpid(), signal.SIGSEGV)

    def leave(self):
        os._exit(3)

    def leave_a_child(self):
        """Die, while a child holds everything that was open."""
        if os.fork() == 0:
            until = time.monotonic() + 60
            while not (self.root / "go").exists() and time.monotonic() < until:
                time.sleep(0.05)
            os._exit(0)
        os.kill(os.getpid(), signal.SIGKILL)

    def be_asked_to_end(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(os.getpid(), number)

    def fail(self):
        raise RuntimeError("the desk broke")


def bench(root, machine):
    return Bench(Path(root))


def slow_bench(root, machine):
    time.sleep(1.0)
    return Bench(Path(root))


def broken_bench(root, machine):
    raise SystemExit(7)


def once_broken_bench(root, machine):
    """The first worker does not get far."""
    try:
        (Path(root) / "first").touch(exist_ok=False)
    except FileExistsError:
        return Bench(Path(root))
    os._exit(7)
