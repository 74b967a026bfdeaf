"""All scenarios by name, each with its number of faults and a stream of choices of its own."""

from functools import partial
from random import Random

from reliability import cluster_kills, corruption, driver_kills, full_disk, shared_store, worker_kills, wrong_clock


def scenarios(kills, seed):
    """What to do in an arena, by name."""
    quarter = -(-kills // 4)
    table = {
        "driver-points-1": (driver_kills.at_points, quarter, 1),
        "driver-points-2": (driver_kills.at_points, quarter, 2),
        "driver-moments-1": (driver_kills.at_moments, quarter, 1),
        "driver-moments-2": (driver_kills.at_moments, quarter, 2),
        "worker-1": (worker_kills.local, 6, 1),
        "worker-2": (worker_kills.local, 6, 2),
        "dask-worker": (cluster_kills.workers, 10),
        "dask-scheduler": (cluster_kills.scheduler, 6),
        "dask-driver": (cluster_kills.driver, 10),
        "disk": (full_disk.full_disk, 24),
        "corruption": (corruption.corruption, 160),
        "clock": (wrong_clock.wrong_clock, 2),
        "concurrent": (shared_store.concurrent, 6),
        "merged": (shared_store.merged, 4),
    }
    return {name: partial(_play, play, Random(f"{seed} {name}"), *numbers) for name, (play, *numbers) in table.items()}


def _play(play, draws, *numbers_and_arena):
    *numbers, arena = numbers_and_arena
    return play(arena, draws, *numbers)
