"""A disk that is full: no file of the run may grow beyond a size."""

import resource
from functools import partial

from reliability.arena import answers, ended
from reliability.tally import Tally

SIZES = 8  # limits for one store, one run each


def full_disk(arena, draws, limits):
    """Every run stops at a larger file size; the last one is free."""
    tally = Tally("disk full")
    codes = []
    for number in range(-(-limits // SIZES)):
        store, seen = f"disk-{number}", set()
        for size in sorted(int(2 ** draws.uniform(0, 15)) for _ in range(min(SIZES, limits - number * SIZES))):
            process = arena.start(store, "--workers", str(number % 3), prepare=partial(_limit, size))
            codes.append(ended(process))
            tally.struck(arena)
            errors = process.errors.read_text()
            if "Traceback" in errors:
                tally.problems.append(f"a traceback with files of at most {size} bytes: {errors[-500:]}")
            if (arena.root(store) / "logs").exists():
                seen |= set(answers(arena.root(store)))
        arena.finish(store)
        tally.compare(arena, arena.root(store), seen)
    tally.notes.append(", ".join(f"exit code {code}: {codes.count(code)}" for code in sorted(set(codes))))
    return tally


def _limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
