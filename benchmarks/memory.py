"""Does the memory budget hold? Peak memory of many model calls, each run in a process of its own."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import psutil
import torch

from assay.core.heap import keep_pages, make_room, start_without_cache
from assay.core.machine import Machine
from assay.core.query import Query
from assay.core.setting import Samples
from assay.core.trial import Scene
from assay.methods.integrated_gradients import IntegratedGradients
from assay.methods.rise import Rise
from assay.methods.smoothed import Smoothed
from assay.metrics.sensitivity_n import SensitivityN
from benchmarks.measuring import Measured
from benchmarks.problems import cifar_query, image_query, resnet_query

BUDGET = 10**9  # bytes
Work = Callable[[Query], object]


def problems() -> list[Measured]:
    """Numbers of steps, sets and masks are such that all calls of a problem have the same size."""
    color, resnet, small = "color_count 224x224", "ResNet-18 224x224", "ResNet-20 32x32"
    pair, one, large = partial(image_query, 224, 2), partial(image_query, 224, 1), partial(resnet_query, 1)
    return [
        Peak(f"gradients: {color}, 2 images, IG", pair, IntegratedGradients(63)),
        Peak(f"gradients: {color}, 1 image, IG smoothed", one, _smoothed(42)),
        Peak(f"gradients: {resnet}, 1 image, IG", large, IntegratedGradients(78)),
        Peak(f"gradients: {resnet}, 1 image, IG smoothed", large, _smoothed(52)),
        Peak(f"gradients: {small}, 32 images, IG", partial(cifar_query, 32), IntegratedGradients(48)),
        Peak(f"forward: {color}, 2 images, sensitivity-n", pair, partial(_probe, SensitivityN(1, 96))),
        Peak(
            f"forward: {resnet}, 2 images, sensitivity-n",
            partial(resnet_query, 2),
            partial(_probe, SensitivityN(1, 120)),
        ),
        Peak(
            f"forward: {small}, 32 images, sensitivity-n",
            partial(cifar_query, 32),
            partial(_probe, SensitivityN(2, 82)),
        ),
        Peak(f"forward: {small}, 8 images, RISE", partial(cifar_query, 8), Rise(663)),
    ]


def _smoothed(steps: int) -> Smoothed:
    return Smoothed(IntegratedGradients(steps), samples=2)


def _probe(metric: SensitivityN, query: Query) -> object:
    """A metric's probe of the model, which does not depend on a method."""
    samples = Samples(query.x, query.target, None, query.indices)
    return metric.probe(Scene(query.setting, samples, query.question, query.target, query.stream, query.machine))


@dataclass(frozen=True)
class Peak:
    """Peak memory of some work beyond that of the loaded model, its inputs and one forward pass."""

    statement: str
    query: Callable[[], Query]
    work: Work

    def rows(self, task: str, repeats: int) -> list[dict[str, Any]]:
        start_without_cache()  # as worker processes do
        runs = [self._run() for _ in range(repeats)]
        took = max(seconds for _, seconds in runs)
        used = [size for size, _ in runs]
        note = f"{repeats} runs, each in a new process; a run takes {took:,.0f} CPU s"
        return [{"task": task, "problem": self.statement, "repeats": repeats, "note": note, **summary(used)}]

    def _run(self) -> tuple[int, float]:
        with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as fresh:
            return fresh.submit(peak, self.query, self.work).result()


def summary(used: list[int]) -> dict[str, Any]:
    """What is shown of the peaks, with the verdict."""
    low, high = min(used), max(used)
    beyond = sum(size > BUDGET for size in used)
    verdict = f"BEYOND {_megabytes(BUDGET)} in {beyond}" if beyond else f"within {_megabytes(BUDGET)} in {len(used)}"
    shown = {"figure": f"{low / 1e6:,.0f} to {_megabytes(high)}", "ratio": f"{verdict} of {len(used)}"}
    return {"who": "assay, beyond the loaded model", "bytes": used, "held": not beyond, **shown}


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"


def peak(make: Callable[[], Query], work: Work) -> tuple[int, float]:
    """Bytes and CPU seconds, measured in this process."""
    torch.set_num_threads(1)
    keep_pages()  # as in every process that computes for a study
    query = replace(make(), machine=Machine(memory=BUDGET))
    first = query.take(slice(0, 1))
    first.score(first.x)
    make_room(0)
    before = psutil.Process().memory_info().rss
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    start = time.process_time()
    work(query)
    return _highest() - before, time.process_time() - start


def _highest() -> int:
    """Peak resident memory in bytes; since the process began, where the peak cannot be reset."""
    status = Path("/proc/self/status")
    if status.exists():
        matched = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        assert matched is not None
        return int(matched[1]) * 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
