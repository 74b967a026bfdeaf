"""The same on a Dask cluster of separate processes on loopback: workers, the scheduler and the driver die."""

import os
from contextlib import contextmanager

from reliability.arena import answers, ended, failures, kill, wait_for_records
from reliability.cluster import Cluster
from reliability.tally import Tally

RESTARTS = 3  # of the scheduler in one run: as many as a run survives


@contextmanager
def _cluster(arena, name):
    folder = arena.folder / f"cluster-{name}"
    folder.mkdir()
    cluster, before = Cluster(folder), dict(os.environ)
    os.environ.update(arena.environment(name))  # workers import the study's components
    try:
        yield cluster.start()
    finally:
        os.environ.clear()
        os.environ.update(before)
        cluster.kill(*cluster.processes)


def _run(arena, store, cluster):
    return arena.start(store, "--engine", "dask", "--address", str(cluster.file))


def workers(arena, draws, kills):
    """A worker dies with its nanny, as a machine would, and another one joins."""
    tally, store = Tally("worker killed, Dask"), "dask-workers"
    with _cluster(arena, store) as cluster:
        process, alive = _run(arena, store, cluster), cluster.processes[1:3]
        while tally.tried < kills and wait_for_records(arena.root(store), process, draws.randint(1, 3)):
            cluster.kill(alive.pop(0))
            alive.append(cluster.worker())
            tally.struck(arena)
        _end(arena, tally, store, process)
    return tally


def scheduler(arena, draws, kills):
    """The scheduler dies with its workers; another one comes up, and the same run goes on."""
    tally = Tally("scheduler killed and restarted, Dask")
    for number in range(-(-kills // RESTARTS)):
        store = f"dask-scheduler-{number}"
        with _cluster(arena, store) as cluster:
            process, restarts = _run(arena, store, cluster), min(RESTARTS, kills - tally.tried)
            while restarts and wait_for_records(arena.root(store), process, draws.randint(1, 12)):
                cluster.kill(*cluster.processes)
                cluster.start()
                tally.struck(arena)
                restarts -= 1
            _end(arena, tally, store, process)
    return tally


def driver(arena, draws, kills):
    """The driver dies, the cluster goes on, and the same command is given again."""
    tally = Tally("driver killed, Dask")
    with _cluster(arena, "dask-driver") as cluster:
        for life in range(kills):
            store, seen = f"dask-driver-{life}", set()
            while tally.tried < kills:
                process = _run(arena, store, cluster)
                if not wait_for_records(arena.root(store), process, draws.randint(1, 12)) or not kill(process):
                    break
                tally.struck(arena)
                seen |= set(answers(arena.root(store)))
            _end(arena, tally, store, _run(arena, store, cluster), seen)
            if tally.tried >= kills:
                break
    return tally


def _end(arena, tally, store, process, seen=()):
    """The run ends well by itself, and its store is the reference."""
    code = ended(process)
    if code != 0:
        why = failures(arena.root(store)) or [process.errors.read_text()[-500:]]
        tally.problems.append(f"exit code {code}: {'; '.join(why)}")
    seen = {*seen, *answers(arena.root(store))}
    arena.finish(store)
    tally.compare(arena, arena.root(store), seen)
