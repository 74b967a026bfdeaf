"""The layers of a network. Methods see them, so they are part of an environment's definition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Row:
    """One module, in call order. ``shape`` is its output without the batch; channels are None where it has none."""

    name: str
    kind: str
    into: int | None
    out: int | None
    shape: tuple[int, ...]
    parameters: int


@dataclass(frozen=True)
class Audit:
    """Every leaf module that ran. ``layers`` counts Conv2d and Linear, as the paper does."""

    rows: tuple[Row, ...]
    parameters: int

    @property
    def layers(self) -> int:
        return sum(row.kind in ("Conv2d", "Linear") for row in self.rows)


def audit(module: nn.Module, input_shape: Sequence[int]) -> Audit:
    """Run one input of zeros, of ``input_shape`` (without the batch), and record every leaf module that runs."""
    rows: list[Row] = []
    leaves = [(name, leaf) for name, leaf in module.named_modules() if not list(leaf.children())]
    hooks = [leaf.register_forward_hook(_append_row(rows, name)) for name, leaf in leaves]
    try:
        with torch.no_grad():
            module(torch.zeros(1, *input_shape))
    finally:
        for hook in hooks:
            hook.remove()
    return Audit(tuple(rows), sum(parameter.numel() for parameter in module.parameters()))


def _append_row(rows: list[Row], name: str) -> Callable[[nn.Module, tuple[Tensor, ...], Tensor], None]:
    def hook(leaf: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        into, out = _channels(leaf)
        parameters = sum(parameter.numel() for parameter in leaf.parameters())
        rows.append(Row(name, type(leaf).__name__, into, out, tuple(output.shape[1:]), parameters))

    return hook


def _channels(leaf: nn.Module) -> tuple[int | None, int | None]:
    if isinstance(leaf, nn.Conv2d):
        return leaf.in_channels, leaf.out_channels
    return (leaf.in_features, leaf.out_features) if isinstance(leaf, nn.Linear) else (None, None)
