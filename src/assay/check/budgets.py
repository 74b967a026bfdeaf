"""Memory budgets that give a stated number of rows per model call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from torch import Tensor, nn

from assay.core.footprint import Footprint
from assay.core.machine import Machine

ROWS = (1, 8, 64)


def budgets(footprint: Footprint) -> dict[str, Machine]:
    """1, 8 and 64 rows per call: for forward passes, and again for passes that keep what gradients need.

    Memory for one row of the smaller kind is one row of the other kind, too.
    """
    passes = {"forward": footprint.forward, "gradient": footprint.gradient}
    each = [(rows, kind) for rows in ROWS for kind in passes if (rows, kind) != (1, "gradient")]
    return {f"{rows} rows a {kind} pass": Machine(memory=rows * passes[kind]) for rows, kind in each}


@dataclass
class Meter:
    """How many rows went through a model."""

    calls: list[int] = field(default_factory=list)

    @property
    def rows(self) -> int:
        return sum(self.calls)


@contextmanager
def metered(model: nn.Module) -> Iterator[Meter]:
    """Count the rows of every call of a model."""
    meter = Meter()

    def note(_module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        meter.calls.append(len(inputs[0]))

    handle = model.register_forward_pre_hook(note)
    try:
        yield meter
    finally:
        handle.remove()
