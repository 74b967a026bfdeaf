"""Which axis of a series holds its steps: the first layer of the model that reads series knows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from assay.core.errors import SpecError
from assay.foreign import models
from assay.users.hugging_face import unpacked
from assay.users.passing import first_that_works, module_ways
from assay.users.rows import Rows

READERS = (nn.Conv1d, nn.RNNBase, nn.MultiheadAttention, nn.TransformerEncoderLayer)


class UnknownOrder(SpecError):
    """Rows (N, a, b) may be series (channels, steps), series (steps, channels) or grey images."""


@dataclass(frozen=True, eq=False)
class Seen:
    """What a layer was called with: (N, channels, steps), whatever its layout is."""

    layer: str
    series: Tensor


def order_of(model: Any, rows: Rows) -> tuple[bool, str] | None:
    """Whether rows are (channels, steps), and the layer that says so; None where no layer can say it for certain.

    The model is asked. The values that its first layer of series is called with are compared with the rows, so that
    a model that swaps both axes before that layer is read as it is meant. Standardised values differ from the rows;
    then the shapes decide.
    """
    model, _ = unpacked(model)
    seen = _first_seen(model, rows) if isinstance(model, nn.Module) else None
    if seen is None:
        return None
    x = models.probe_rows(rows.x)
    for equal in (torch.equal, _same_shape):
        as_channels_first, as_steps_first = (equal(part, seen.series.to(x)) for part in (x, x.transpose(1, 2)))
        if as_channels_first != as_steps_first:
            return as_channels_first, seen.layer
    return None


def _same_shape(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape


def _first_seen(model: nn.Module, rows: Rows) -> Seen | None:
    """By the first layer of series in the call that succeeds."""
    copy, seen = models.frozen(models.checked_copy(model)), list[Seen]()
    hooks = [copy.register_forward_pre_hook(lambda *_: seen.clear())]  # rows may be tried in several ways
    for layer in copy.modules():
        if isinstance(layer, READERS):
            hooks.append(layer.register_forward_pre_hook(lambda one, given: seen.extend(_seen(one, given))))
    if len(hooks) > 1:
        first_that_works(copy, module_ways(copy, rows), models.probe_rows(rows.x))
    return seen[0] if seen else None


def _seen(layer: nn.Module, given: tuple[Any, ...]) -> list[Seen]:
    if not given or not isinstance(given[0], Tensor) or given[0].dim() != 3:
        return []
    return [Seen(type(layer).__name__, _channels_first(layer, given[0].detach()))]


def _channels_first(layer: nn.Module, series: Tensor) -> Tensor:
    """From the layout of a layer."""
    if isinstance(layer, nn.Conv1d):
        return series
    attention = layer.self_attn if isinstance(layer, nn.TransformerEncoderLayer) else layer
    return series.transpose(1, 2) if attention.batch_first else series.permute(1, 2, 0)
