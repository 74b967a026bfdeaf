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
    """How many rows went through a model, and whether gradients were kept on the way."""

    calls: list[int] = field(default_factory=list)
    kinds: set[str] = field(default_factory=set)

    @property
    def rows(self) -> int:
        return sum(self.calls)


@contextmanager
def metered(model: nn.Module) -> Iterator[Meter]:
    """Count the rows of every call of a model."""
    meter = Meter()

    def note(_module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        meter.calls.append(len(inputs[0]))
        meter.kinds.add("gradient" if torch.is_grad_enabled() else "forward")

    handle = model.register_forward_pre_hook(note)
    try:
        yield meter
    finally:
        handle.remove()


def budgets(footprint: Footprint, kinds: Iterable[str]) -> dict[str, Machine]:
    """1, 8 and 64 rows per call, of each kind of pass that is in use: forward, and gradient, which keeps more.

    Memory for one row of a forward pass is one row of the other kind, too.
    """
    passes = {"forward": footprint.forward, "gradient": footprint.gradient}
    several = {f"{rows} rows a {kind} pass": Machine(memory=rows * passes[kind]) for kind in kinds for rows in ROWS[1:]}
    return {f"{ROWS[0]} row a pass": Machine(memory=ROWS[0] * footprint.forward), **several}
