"""Does the memory budget hold? Peak memory of many gradients on large images, each in a process of its own."""

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

from assay.bench.bench import Measured
from assay.bench.extremal_perturbation import resnet_query
from assay.bench.problems import image_query
from assay.core.machine import Machine
from assay.core.protocols import Method
from assay.core.query import Query
from assay.methods.integrated_gradients import IntegratedGradients
from assay.methods.smoothed import Smoothed

BUDGET = 10**9  # bytes
STEPS = 1000


def problems() -> list[Measured]:
    plain = IntegratedGradients(STEPS)
    color, resnet = partial(image_query, 224), resnet_query
    return [
        Peak("color_count 224x224, 2 images", partial(color, 2), plain),
        Peak("color_count 224x224, 1 image", partial(color, 1), Smoothed(plain, samples=2)),
        Peak("ResNet-18 224x224, 1 image", partial(resnet, 1), plain),
        Peak("ResNet-18 224x224, 1 image", partial(resnet, 1), Smoothed(plain, samples=1)),
    ]


@dataclass(frozen=True)
class Peak:
    """A method's peak memory beyond that of the loaded model, its inputs and one forward pass."""

    what: str
    query: Callable[[], Query]
    method: Method

    def rows(self, task: str, repeats: int) -> list[dict[str, Any]]:
        """Measured once, however many ``repeats``: it takes minutes, and the calls are the same every time."""
        with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as fresh:
            used, took = fresh.submit(peak, self.query, self.method).result()
        held = used <= BUDGET
        return [
            {
                "task": task,
                "problem": f"{self.what}, {self.method}, budget {BUDGET / 1e6:,.0f} MB",
                "repeats": 1,
                "who": "assay, peak beyond the loaded model",
                "bytes": used,
                "held": held,
                "figure": f"{used / 1e6:,.0f} MB",
                "ratio": "held" if held else "EXCEEDED",
                "note": f"one run, {took:,.0f} s",
            }
        ]


def peak(make: Callable[[], Query], method: Method) -> tuple[int, float]:
    """Bytes and seconds, measured in this process."""
    torch.set_num_threads(1)
    query = replace(make(), machine=Machine(memory=BUDGET))
    first = query.about(slice(0, 1))
    first.score(first.x)
    before = psutil.Process().memory_info().rss
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # forgets the peak so far
    start = time.perf_counter()
    method(query)
    return _highest() - before, time.perf_counter() - start


def _highest() -> int:
    """The most memory that was resident at a time; where the peak cannot be forgotten, since the process began."""
    status = Path("/proc/self/status")
    if status.exists():
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        assert found is not None
        return int(found[1]) * 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
