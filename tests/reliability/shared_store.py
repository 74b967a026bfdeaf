"""Two runs of one study begin at the same time, and one waits for the other; stores of two machines are merged."""

import signal
from itertools import count

from assay.engine.store.lease import Leases
from assay.engine.store.store import Store
from reliability.arena import answers, ended, kill, wait_for_records
from reliability.tally import Tally


def concurrent(arena, draws, times):
    """In every second store the one that writes is killed on the way, and the one that waits goes on."""
    tally = Tally("two runs into one store, one waits for the other")
    for number in range(times):
        store, root = f"concurrent-{number}", arena.root(f"concurrent-{number}")
        both = [arena.start(store, "--workers", "1") for _ in range(2)]
        killed = number % 2 == 1 and wait_for_records(root, both[0], draws.randint(1, 24)) and kill(_writer(root, both))
        seen = answers(root) if killed else ()
        codes = sorted(ended(process) for process in both)
        if codes != ([-signal.SIGKILL, 0] if killed else [0, 0]):
            tally.problems.append(f"exit codes {codes}: {[process.errors.read_text()[-500:] for process in both]}")
        tally.struck(arena)
        tally.compare(arena, root, seen)
    return tally


def _writer(root, processes):
    """The one that has the turn, or had it last."""
    holder = Leases(root).holder()
    return next((process for process in processes if holder and process.pid == holder.pid), processes[0])


def merged(arena, draws, times):
    """One half of the seeds in one store, the rest in another; merged in either order, by two steps or one."""
    tally = Tally("halves of a study in two stores, merged")
    names = (f"merged-{number}" for number in count())
    for turn in range(times):
        halves = [next(names), next(names)]
        for seed, half in enumerate(halves):
            ended(arena.start(half, "--workers", "0", "--seeds", str(seed)))
        if draws.random() < 0.5:
            halves.reverse()
        target, source = (Store.open(arena.root(half)) for half in halves)
        tally.problems += target.merge(source) + (target.merge(source) if turn % 2 else [])
        seen = set(answers(target.root)) | set(answers(source.root))
        target.close()
        source.close()
        arena.finish(halves[0])
        tally.struck(arena)
        tally.compare(arena, arena.root(halves[0]), seen, _reference(arena))
    return tally


def _reference(arena):
    """One store that ran either seed, then both."""
    for options in (["--seeds", "0"], ["--seeds", "1"], []):
        ended(arena.start("merged-reference", "--workers", "0", *options))
    return arena.dump(arena.root("merged-reference"))
