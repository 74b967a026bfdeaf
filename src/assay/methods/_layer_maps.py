"""Maps of a layer: which layer, its activations and gradients, and their size in the image."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate

from assay.core.errors import NotApplicable
from assay.core.map_grid import Nodes
from assay.core.query import Query
from assay.kit.layers import find_layer as find_layer
from assay.kit.layers import forward_hooks, module_outputs

POOLS = (nn.MaxPool2d, nn.AvgPool2d, nn.LPPool2d, nn.AdaptiveMaxPool2d, nn.AdaptiveAvgPool2d)


def spatial_layer(query: Query, name: str) -> nn.Module:
    """The layer of this name; without a name, the environment's choice, or the last block. Notes the layer used."""
    if query.setting.kind != "image":
        raise NotApplicable("needs a convolutional layer")
    name = name or query.setting.hints.get("grad_cam") or _last_map_name(query)
    query.note(f"layer {name}")
    return find_layer(query.setting.model, name)


def activations(query: Query, layer: nn.Module) -> Tensor:
    """The layer's output for the samples: (N, C, h, w)."""
    with _recorded_outputs(layer) as outputs, torch.no_grad():
        query.setting.model(query.x)
    return _last_output(outputs)


def activations_and_gradients(query: Query, layer: nn.Module) -> tuple[Tensor, Tensor]:
    """The layer's output for the samples, and the explained number's gradient there: (N, C, h, w) both."""
    with _recorded_outputs(layer) as outputs, torch.enable_grad():
        scores = query.module(query.x.detach().requires_grad_()).gather(1, query.target.unsqueeze(1))
        (gradient,) = torch.autograd.grad(scores.sum(), _last_output(outputs), materialize_grads=True)
    return _last_output(outputs).detach(), gradient


def upsampled(query: Query, maps: Tensor) -> Tensor:
    """(N, C, h, w) in the image's height and width, bilinear."""
    return interpolate(maps, query.setting.features.shape, mode="bilinear", align_corners=False)


def layer_grid(query: Query, maps: Tensor) -> Nodes:
    """What the enlarged (N, C, h, w) are made of; they have no negative values."""
    nodes = maps.shape[2:]
    down, across = map(_axis_weights, nodes, query.setting.features.shape)
    return Nodes(down, across, f"{nodes[0]}x{nodes[1]} grid")


def _axis_weights(nodes: int, pixels: int) -> Tensor:
    """(pixels, nodes): a line is enlarged as an image is along one axis."""
    lines = torch.eye(nodes, dtype=torch.float64).unsqueeze(0)
    return interpolate(lines, pixels, mode="linear", align_corners=False)[0].T


def _last_map_name(query: Query) -> str:
    """The name of the module that returned the last image of more than one pixel.

    Of a residual block this is the block, after its sum, and not the last layer of its branch. Of several modules that
    return the same image it is the innermost. A pooling layer only makes the image before it coarser, so it counts only
    if there is no other module.
    """
    x = query.x[:1]
    with torch.no_grad():
        runs = [run for run in module_outputs(query.setting.model, x) if run.output is not x]
    maps = [run for run in runs if run.output.dim() == 4 and min(run.output.shape[2:]) > 1]
    pools = [run for run in maps if isinstance(run.module, POOLS)]
    candidates = [run for run in maps if not any(run.same(pool) for pool in pools)] or pools
    if not candidates:
        raise NotApplicable("needs a convolutional layer")
    return next(run.name for run in candidates if run.same(candidates[-1]))


@contextmanager
def _recorded_outputs(layer: nn.Module) -> Iterator[list[Tensor]]:
    """The layer's outputs within the scope, one for each of its runs."""
    outputs: list[Tensor] = []

    def record(_module: nn.Module, _inputs: Any, output: Any) -> Any:
        outputs.append(output)
        return output.clone() if isinstance(output, Tensor) else output  # the next layer may work in place

    with forward_hooks([layer], record):
        yield outputs


def _last_output(outputs: list[Tensor]) -> Tensor:
    if not outputs:
        raise NotApplicable("needs a layer that the model uses, and it does not call the chosen one")
    if not isinstance(outputs[-1], Tensor) or outputs[-1].dim() != 4:
        raise NotApplicable("needs a convolutional layer, and the chosen one does not return an image")
    return outputs[-1]
