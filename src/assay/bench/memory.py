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
from assay.core.pages import keep_pages
from assay.core.protocols import Method
from assay.core.query import Query
from assay.methods.integrated_gradients import IntegratedGradients
from assay.methods.smoothed import Smoothed

BUDGET = 10**9  # bytes
STEPS = 1000


def problems() -> list[Measured]:
    plain = IntegratedGradients(STEPS)
    color, resnet = "color_count 224x224", "ResNet-18 224x224"
    return [
        Peak(f"{color}, 2 images, IG with {STEPS} steps", partial(image_query, 224, 2), plain),
        Peak(f"{color}, 1 image, 2 copies smoothed", partial(image_query, 224, 1), Smoothed(plain, samples=2)),
        Peak(f"{resnet}, 1 image, IG with {STEPS} steps", partial(resnet_query, 1), plain),
        Peak(f"{resnet}, 1 image, 1 copy smoothed", partial(resnet_query, 1), Smoothed(plain, samples=1)),
    ]


@dataclass(frozen=True)
class Peak:
    """A method's peak memory beyond that of the loaded model, its inputs and one forward pass."""

    statement: str
    query: Callable[[], Query]
    method: Method

    def rows(self, task: str, repeats: int) -> list[dict[str, Any]]:
        """Measured once, however many ``repeats``: it takes minutes, and the calls are the same every time."""
        with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as fresh:
            used, took = fresh.submit(peak, self.query, self.method).result()
        return [
            {"task": task, "problem": self.statement, "repeats": 1, "note": f"one run, {took:,.0f} CPU s", **told(used)}
        ]


def told(used: int) -> dict[str, Any]:
    """A peak as what is shown, with the verdict."""
    held = used <= BUDGET
    shown = {"figure": f"{used / 1e6:,.0f} MB", "ratio": f"{'within' if held else 'BEYOND'} {BUDGET / 1e6:,.0f} MB"}
    return {"who": "assay, beyond the loaded model", "bytes": used, "held": held, **shown}


def peak(make: Callable[[], Query], method: Method) -> tuple[int, float]:
    """Bytes and CPU seconds, measured in this process."""
    torch.set_num_threads(1)
    keep_pages()  # as in every process that computes for a study
    query = replace(make(), machine=Machine(memory=BUDGET))
    first = query.about(slice(0, 1))
    first.score(first.x)
    before = psutil.Process().memory_info().rss
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # forgets the peak so far
    start = time.process_time()
    method(query)
    return _highest() - before, time.process_time() - start


def _highest() -> int:
    """The most memory that was resident at a time; where the peak cannot be forgotten, since the process began."""
    status = Path("/proc/self/status")
    if status.exists():
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        assert found is not None
        return int(found[1]) * 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
