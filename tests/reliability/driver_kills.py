"""The driver and all its workers die by SIGKILL, and the same command is given again.

A store has a life: the command is killed again and again until the study is complete. One half of the kills strikes at
named points (``fault_points.py``), the other half at random moments between the start and the end of a run.
"""

import signal
import time
from itertools import count

from reliability.arena import answers, ended, kill, wait_for_records
from reliability.tally import Tally

KILLS = 12  # of one store, at most
BEFORE = ("file.renamed:1", "cache.partial:1")  # points that only a new store reaches
DURING = ("array.partial", "array.written", "record.partial", "record.written")
AFTER = "run.unrecorded:1"  # everything is computed by then
POINTS = tuple(fault.partition(":")[0] for fault in (*BEFORE, *DURING, AFTER))


def at_points(arena, draws, kills, workers):
    """Kills at named points."""
    tally, struck = Tally(f"driver killed at a named point, {workers} worker(s)"), dict.fromkeys(POINTS, 0)

    def strike(store, fault):
        process = arena.start(store, "--workers", str(workers), fault=fault)
        died = ended(process) == -signal.SIGKILL
        struck[fault.partition(":")[0]] += died
        return died

    for life in count():
        if tally.tried >= kills or life > kills:
            break
        _live(arena, tally, f"points-{workers}-{life}", strike, _faults(draws, kills - tally.tried))
    tally.notes += [", ".join(f"{point} {times}" for point, times in struck.items())]
    return tally


def at_moments(arena, draws, kills, workers):
    """Kills at random moments: one half counted from the start of the process, one half from its first record."""
    tally = Tally(f"driver killed at a random moment, {workers} worker(s)")
    duration = _duration(arena, workers)

    def strike(store, moment):
        process = arena.start(store, "--workers", str(workers))
        if moment < 0.5 or wait_for_records(arena.root(store), process):
            time.sleep(2 * moment * duration if moment < 0.5 else (moment - 0.5) * duration / 2)
        return kill(process)

    for life in count():
        if tally.tried >= kills or life > kills:
            break
        moments = [draws.random() for _ in range(min(KILLS, kills - tally.tried))]
        _live(arena, tally, f"moments-{workers}-{life}", strike, moments)
    return tally


def _duration(arena, workers):
    start = time.monotonic()
    ended(arena.start(f"duration-{workers}", "--workers", str(workers)))
    return time.monotonic() - start


def _faults(draws, most):
    """The points of one life, in the order in which a store reaches them."""
    middle = [f"{point}:{draws.randint(1, 4)}" for point in DURING * 2]
    draws.shuffle(middle)
    return [*BEFORE, *middle, AFTER][:most]


def _live(arena, tally, store, strike, blows):
    """One store: struck until a run completes the study, or until there is no more blow; then completed."""
    root, seen = arena.root(store), set()
    for blow in blows:
        if not strike(store, blow):
            break
        tally.struck(arena)
        in_logs = set(answers(root))
        tally.lost += len(seen - in_logs)
        seen |= in_logs
    arena.finish(store)
    tally.compare(arena, root, seen)
