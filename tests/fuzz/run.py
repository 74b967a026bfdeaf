"""Gives changed inputs to the package, all in one process: ``python tests/fuzz/run.py --count 10000 --seed 0``.

Prints a table by kind and exits with code 1 if an input caused a traceback, a hang or a wrong result. Such inputs are
kept in a folder. An input depends on the seed and its number alone: ``--only 1234`` repeats one. ``--kind`` leaves out
all inputs of other kinds.
"""

from __future__ import annotations

import argparse
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))  # this file is also run as a script

from assay.core.errors import AssayError
from fuzz.kinds import Kind, kinds, plan

SECONDS = 10  # of CPU time for one input; most take milliseconds
WAIT = 120  # seconds by the clock, for what waits and computes nothing
MEMORY = 8 * 2**30


class Hang(BaseException):
    """No answer in time; no ``except Exception`` takes it."""


class Fault(NamedTuple):
    number: int
    kind: str
    trace: str


def fuzz(
    count: int, seed: int, folder: Path, only: int | None = None, kind: str | None = None
) -> tuple[dict[str, Counter[str]], list[Fault]]:
    """Try inputs; returns how they ended by kind, and the faults. Inputs with faults stay in the folder."""
    outcomes: dict[str, Counter[str]] = {}
    faults: list[Fault] = []
    known = kinds(folder)
    before = {ring: signal.signal(ring, _ring) for ring in (signal.SIGPROF, signal.SIGALRM)}
    try:
        for number, name in enumerate(plan(known, count)):
            if only not in (None, number) or kind not in (None, name):
                continue
            place = folder / f"{number:05d} {name}"
            outcome, trace = _attempt(known[name], random.Random(f"{seed} {number}"), place)
            outcomes.setdefault(name, Counter())[outcome] += 1
            if trace:
                faults.append(Fault(number, name, trace))
                (place / "traceback.txt").write_text(trace, encoding="utf-8", errors="backslashreplace")
            else:
                shutil.rmtree(place)
    finally:
        for ring, handler in before.items():
            signal.signal(ring, handler)
    return outcomes, faults


def _attempt(kind: Kind, draw: random.Random, folder: Path) -> tuple[str, str]:
    """How an input ended, and its traceback if it is a fault."""
    folder.mkdir(parents=True)
    kind.make(draw, folder)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    signal.setitimer(signal.ITIMER_REAL, WAIT)
    try:
        with warnings.catch_warnings(action="ignore"):
            accepted = kind.attempt(folder)
        return "accepted" if accepted else "refused", ""
    except (AssayError, OSError, MemoryError):
        return "refused", ""
    except Hang:
        return "hang", traceback.format_exc()
    except Exception:
        return "fault", traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


def _ring(*_: object) -> None:
    raise Hang(f"no answer within {SECONDS} seconds of CPU time or {WAIT} by the clock")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="the number of one input")
    parser.add_argument("--kind", help="study, table, spec, array, weights, damaged store or hostile store")
    parser.add_argument("--folder", type=Path, help="where inputs with faults are kept; default: a new one")
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="assay-fuzz-"))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    start = time.monotonic()
    outcomes, faults = fuzz(arguments.count, arguments.seed, folder, arguments.only, arguments.kind)
    print(f"{'kind':15} {'tried':>6} {'refused':>8} {'accepted':>9} {'fault':>6} {'hang':>5}")
    total = sum(outcomes.values(), Counter())
    for name, ends in {**outcomes, "all": total}.items():
        columns = (sum(ends.values()), ends["refused"], ends["accepted"], ends["fault"], ends["hang"])
        print("{:15} {:6} {:8} {:9} {:6} {:5}".format(name, *columns))
    print(f"{time.monotonic() - start:.0f} s, seed {arguments.seed}")
    for fault in faults:
        print(f"\ninput {fault.number} ({fault.kind}), kept in {folder}\n{fault.trace[-1500:]}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
