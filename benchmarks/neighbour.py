"""A neighbour: one other process that moves memory without a pause while we measure.

Calls that fill memory suffer beside other work, and calls that stay in the caches hardly do.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event

import torch

from assay.core.errors import AssayError

NUMBERS = 2**25  # float32 of each of two tensors: 128 MB, more than caches hold
START = 60.0  # seconds


@contextmanager
def busy_neighbour(start: float = START) -> Iterator[BaseProcess]:
    """Runs the neighbour within the scope. It ends, too, when this process does."""
    context = get_context("spawn")
    moving = context.Event()
    process = context.Process(target=_move_memory, args=(moving,), daemon=True)
    process.start()
    try:
        if not moving.wait(start):
            raise AssayError(f"the neighbour process did not start within {start:g} seconds.")
        yield process
        if not process.is_alive():
            raise AssayError("the neighbour process ended before the measurement did.")
    finally:
        process.kill()
        process.join()


def _move_memory(moving: Event) -> None:
    torch.set_num_threads(1)
    source, target = torch.ones(NUMBERS), torch.empty(NUMBERS)
    measuring = parent_process()
    moving.set()
    while measuring is not None and measuring.is_alive():
        target.copy_(source)
