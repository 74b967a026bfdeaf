"""How far results move with ``--memory``, ``--threads`` and the block size: prints the table of docs/determinism.md.

One study is computed in this process again and again, each time with one option changed. Printed are the largest
differences from the first computation: of an attribution, as a share of the largest magnitude in its map, and of the
scores of samples, as a share of the largest magnitude of a metric. 0 means equal bit for bit.
``python -m benchmarks.determinism`` takes two minutes of one core; arguments such as "--threads 2" select variants.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.core.evidence import Evidence
from assay.core.heap import keep_pages
from assay.core.machine import Machine
from assay.engine.execute.grid import grid
from assay.engine.execute.inline import MemoryEngine
from assay.studies.file import read
from benchmarks.tables import Row, show

ENVIRONMENTS = {
    "color_count 64x64": "color_count(side=64, sizes=(9, 17))",
    "resnet8, trained": "cifar(dataset='drawn', network='resnet8', weights='trained', train_rows=192, "
    "reference_rows=48, epochs=3, batch=16, lr=0.01)",
    "MLP, trained": "tabular_rule(train_rows=512, hidden=(64, 64), epochs=10)",
}
METHODS = ("gradient", "integrated_gradients(steps=16)", "smoothed(of=gradient, samples=8)", "kernel_shap(samples=200)")
METRICS = ("deletion", "sensitivity_n", "infidelity")
BLOCK, SAMPLES = 4, 8
VARIANTS = {
    "the same again": (Machine(), BLOCK),
    "--memory 64MB": (Machine(memory=2**26), BLOCK),
    "--memory 1MB": (Machine(memory=2**20), BLOCK),
    "--threads 2": (Machine(threads=2), BLOCK),
    "blocks of 2": (Machine(), 2),
    "blocks of 8": (Machine(), 8),
}

Array = npt.NDArray[Any]
Numbers = dict[tuple[str, str, str], Array]  # environment, method, "" or metric: rows of all samples


def compute(machine: Machine, block: int) -> Numbers:
    numbers: Numbers = {}
    for name, environment in ENVIRONMENTS.items():
        entry = {"use": environment, "samples": SAMPLES, "block": block}
        table = {"environments": [entry], "methods": list(METHODS), "metrics": list(METRICS), "gallery": 0}
        engine, artifacts = MemoryEngine(machine), grid(read(table, "determinism"))
        engine.realise(artifacts.wanted)
        for series in artifacts.series:
            method = series.method.label
            if engine[series.trials[0]].status == "ok":
                maps = [engine.arrays(trial)["attribution"] for trial in series.trials]
                numbers[name, method, ""] = np.concatenate(maps).reshape(SAMPLES, -1)
            for metric, blocks in series.evidence.items():
                if engine[blocks[0]].status == "ok":
                    rows = [Evidence.from_arrays(engine.arrays(part))["value"] for part in blocks]
                    numbers[name, method, metric] = np.concatenate(rows)
    return numbers


def difference(first: Array, second: Array) -> float:
    """The largest difference as a share of the largest magnitude: of each map, or of a metric's values."""
    axis = 1 if first.ndim == 2 else None
    scale = np.abs(first).max(axis=axis, keepdims=True)
    return float((np.abs(second - first) / np.where(scale > 0, scale, 1)).max())


def table(variants: Sequence[str]) -> Iterator[Row]:
    reference = compute(Machine(), BLOCK)
    for variant in variants:
        numbers, row, largest = compute(*VARIANTS[variant]), {"changed": variant}, (0.0, "")
        for environment, (what, is_map) in product(ENVIRONMENTS, (("maps", True), ("scores", False))):
            found = {
                f"{key[1]} {key[2]}".strip(): difference(rows, numbers[key])
                for key, rows in reference.items()
                if key[0] == environment and (key[2] == "") == is_map
            }
            row[f"{environment}: {what}"] = f"{max(found.values()):.1e}" if any(found.values()) else "0"
            largest = max(largest, *((value, f"{who}, {environment}") for who, value in found.items()))
        yield {**row, "the largest": largest[1] if largest[0] else ""}


def main(arguments: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory() as cache:
        os.environ["ASSAY_CACHE"] = cache  # trained once, so that only attributions and scores differ
        keep_pages()
        show(arguments, (table([name for name in arguments if name in VARIANTS] or list(VARIANTS)), 1))


if __name__ == "__main__":
    main(sys.argv[1:])
