"""Memory budgets that give a stated number of rows per model call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from assay.core.footprint import Footprint
from assay.core.machine import Machine

ROWS = (1, 8, 64)


@dataclass
class Meter:
    """How many rows a model was called with, and whether in forward or in gradient passes."""

    calls: list[int] = field(default_factory=list)  # rows of each call
    kinds: set[str] = field(default_factory=set)  # "forward", "gradient"

    @property
    def rows(self) -> int:
        return sum(self.calls)


@contextmanager
def metered(model: nn.Module) -> Iterator[Meter]:
    """Count the rows of every call of a model."""
    meter = Meter()

    def record(_module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        meter.calls.append(len(inputs[0]))
        meter.kinds.add("gradient" if torch.is_grad_enabled() else "forward")

    handle = model.register_forward_pre_hook(record)
    try:
        yield meter
    finally:
        handle.remove()


def budgets(footprint: Footprint, kinds: Iterable[str]) -> dict[str, tuple[int, Machine]]:
    """1, 8 and 64 rows per call, each with its machine, of each kind of pass in use: gradients need more memory.

    One budget serves one row of both kinds, since a call takes at least one row.
    """
    passes = {"forward": footprint.forward, "gradient": footprint.gradient}
    larger = {
        f"{rows} rows a {kind} pass": (rows, Machine(memory=rows * passes[kind])) for kind in kinds for rows in ROWS[1:]
    }
    return {f"{ROWS[0]} row a pass": (ROWS[0], Machine(memory=ROWS[0] * footprint.forward)), **larger}
