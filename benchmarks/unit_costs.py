"""What one record, one block, one file and one row cost: the numbers behind docs/scale.md.

    python -m benchmarks.unit_costs

Wall times of one process. Sizes are those of a small study of 64 x 64 images with real methods and metrics.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import mean

import numpy as np
import psutil

from assay.core.records import Record, canonical
from assay.engine.execute.grid import grid
from assay.engine.execute.plan import plan
from assay.engine.execute.queue import Queue
from assay.engine.execute.run import run
from assay.engine.store.log import encode
from assay.engine.store.store import Store
from assay.report.export import samples, write
from assay.studies.file import read
from benchmarks.engine import study as trivial_study
from benchmarks.tables import Row, show

BLOCKS = 20_000
EXPORTED = 500  # blocks
TASKS = 3_000
SAMPLES, BLOCK = 32, 16
SIZES = {
    "environments": ["color_count(side=64)"],
    "methods": ["gradient", "integrated_gradients(steps=4)"],
    "metrics": ["f1", "deletion", "single_deletion"],
    "samples": SAMPLES,
    "block": BLOCK,
    "gallery": 0,
}


def costs() -> Iterator[Row]:
    for measure in (planning, sizes, driving, reading, exporting, scheduling):
        with tempfile.TemporaryDirectory() as folder:
            yield from measure(Path(folder))


def cost(what: str, value: float, unit: str) -> Row:
    return {"what": what, "cost": float(f"{value:.3g}" if value < 100 else f"{value:.0f}"), "unit": unit}


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def sizes(folder: Path) -> Iterator[Row]:
    """Bytes of a record, of an attribution and of a row of evidence."""
    run(read(SIZES, "sizes"), folder / "s")
    store = Store.open(folder / "s")
    lines, arrays = defaultdict(list), defaultdict(list)
    for record in store.records():
        lines[record.kind].append(len(encode(record)))
        if record.arrays:
            arrays[record.kind].append(store.arrays.path(record.arrays).stat().st_size)
    for kind in ("trial", "evidence", "probe", "score"):
        yield cost(f"log line of a record: {kind}", mean(lines[kind]), "bytes")
    yield cost("array file: attribution of a sample of 64 x 64", mean(arrays["trial"]) / BLOCK, "bytes")
    yield cost(f"array file: a score row, in blocks of {BLOCK}", mean(arrays["evidence"]) / BLOCK, "bytes")
    yield cost("files per record with arrays", 1, "file")


def planning(folder: Path) -> Iterator[Row]:
    """Time and memory of a plan, per block: a trial and its evidence."""
    process, store = psutil.Process(), Store.open(folder / "s")
    before = process.memory_info().rss
    start = time.perf_counter()
    study_grid = grid(trivial_study(BLOCKS))
    todo = plan(study_grid, store)
    taken = time.perf_counter() - start
    queue = Queue(todo.artifacts, store)
    yield cost(f"plan, per block, {BLOCKS:,} blocks", taken / BLOCKS * 1e3, "ms")
    yield cost("memory of the plan and the queue, per block", (process.memory_info().rss - before) / BLOCKS, "bytes")
    assert queue
    keys = sum(len(canonical(series.to_json())) for series in study_grid.series)
    yield cost("run record, per block of a method with one metric", keys / BLOCKS, "bytes")


def _records(count: int) -> list[Record]:
    """Records of a usual length."""
    data = {"environment": "color_count(side=64)", "method": "gradient", "seed": 0, "block": [0, 16], "text": "x" * 300}
    return [Record("trial", f"{number:064x}", "ok", arrays=f"{number:064x}", data=data) for number in range(count)]


def driving(folder: Path) -> Iterator[Row]:
    """What the driver does for each record, and what a worker does for each array."""
    store, records = Store.open(folder / "s"), _records(BLOCKS)
    taken = seconds(lambda: deque(map(store.put, records), maxlen=0))
    yield cost("driver: a record is logged", taken / BLOCKS * 1e3, "ms")
    values = [np.full((16, 64, 64), number, dtype=np.float32) for number in range(500)]
    taken = seconds(lambda: [store.save({"attribution": value}) for value in values])
    yield cost("worker: an array file of 256 KB is written", taken / len(values) * 1e3, "ms")


def reading(folder: Path) -> Iterator[Row]:
    """A store is opened: every line of its logs is read and checked."""
    store, process = Store.open(folder / "s", sync=False), psutil.Process()
    for record in _records(BLOCKS):
        store.put(record)
    store.close()
    opened, before = Store.open(folder / "s"), process.memory_info().rss
    yield cost("logs are read, per record", seconds(opened.refresh) / BLOCKS * 1e3, "ms")
    yield cost("what is kept of them, per record", (process.memory_info().rss - before) / BLOCKS, "bytes")


def exporting(folder: Path) -> Iterator[Row]:
    """The long table, by rows per block."""
    for block in (1, 64):
        table = {
            "environments": [{"use": "benchmarks.engine:Zeros", "samples": EXPORTED * block, "block": block}],
            "methods": ["benchmarks.engine:Echo"],
            "metrics": ["benchmarks.engine:ZeroScore"],
            "gallery": 0,
        }
        root, rows = folder / str(block), EXPORTED * block
        run(read(table, "export"), root)
        store = Store.open(root)
        taken = seconds(partial(write, store, folder / "table.parquet"))
        table_bytes = samples(store).memory_usage(deep=True).sum()
        yield cost(f"export to parquet, blocks of {block}", rows / taken, "rows/s")
        yield cost(f"memory of the long table, blocks of {block}", table_bytes / rows, "bytes/row")
        yield cost(f"parquet file, blocks of {block}", (folder / "table.parquet").stat().st_size / rows, "bytes/row")


def scheduling(_folder: Path) -> Iterator[Row]:
    """Dask's scheduler with trivial tasks, two workers."""
    import distributed

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs="ERROR"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        client.gather(client.map(abs, range(100), pure=False))
        taken = seconds(lambda: client.gather(client.map(abs, range(TASKS), pure=False)))
    yield cost("Dask scheduler, trivial tasks sent together", TASKS / taken, "tasks/s")


if __name__ == "__main__":
    show(sys.argv[1:], (costs(), 1))
