"""A worker of the local engine dies by SIGKILL while it computes: one failed record, and the next run tries again."""

import psutil

from assay.engine.store.store import Store
from reliability.arena import answers, ended, wait_for_records
from reliability.tally import Tally

TURNS = 3  # runs into one store, each with a kill


def local(arena, draws, kills, workers):
    tally, failures, store = Tally(f"worker killed, local engine, {workers} worker(s)"), 0, ""
    for number in range(kills):
        store = f"workers-{workers}-{number // TURNS}"
        failures += _turn(arena, tally, store, workers, draws.randint(1, 12))
        if number % TURNS == TURNS - 1 or number == kills - 1:
            seen = answers(arena.root(store))
            arena.finish(store)
            tally.compare(arena, arena.root(store), seen)
    tally.notes.append(f"{failures} failed records, all tried again by the next run")
    if failures > tally.tried * 12:  # a trial that fails takes its evidence and scores along
        tally.problems.append(f"{failures} failed records of {tally.tried} kills")
    return tally


def _turn(arena, tally, store, workers, records):
    """One run whose worker is killed; the number of failed records that it leaves."""
    process = arena.start(store, "--workers", str(workers))
    if wait_for_records(arena.root(store), process, records):
        busy = [child for child in psutil.Process(process.pid).children() if "spawn_main" in " ".join(child.cmdline())]
        if busy:
            busy[0].kill()
            tally.struck(arena)
    code = ended(process)
    if code not in (0, 1):  # 1: a cell failed
        tally.problems.append(f"exit code {code} after a worker was killed: {process.errors.read_text()[-500:]}")
    opened = Store.open(arena.root(store), create=False)
    failed = [record for record in opened.records() if record.status == "failed"]
    opened.close()
    return len(failed)
