"""Class activation maps: a layer's channels, each with its weight, added up and enlarged to the image."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate

from assay.core.errors import NotApplicable
from assay.core.query import Query
from assay.kit.layers import layer, returned, watched

POOLS = (nn.MaxPool2d, nn.AvgPool2d, nn.LPPool2d, nn.AdaptiveMaxPool2d, nn.AdaptiveAvgPool2d)
Weigh = Callable[[Tensor, Tensor], Tensor]  # activations, gradients (N, C, h, w) -> weights of channels or of entries


def gradient_map(query: Query, name: str, relu: bool, weigh: Weigh) -> Tensor:
    """The map of a layer whose weights follow from its activations and the explained number's gradient there."""
    query.require_gradients()
    chosen = spatial(query, name)
    seen = (activations_and_gradients(block, chosen) for block in query.blocks())
    return enlarged(query, torch.cat([combined(weigh(maps, slopes), maps) for maps, slopes in seen]), relu)


def spatial(query: Query, name: str) -> nn.Module:
    """The layer of this name; of none, the environment's choice, or the last block. It is noted with the answer."""
    if query.setting.kind != "image":
        raise NotApplicable("needs a convolutional layer")
    name = name or query.setting.hints.get("grad_cam") or _last_map(query)
    query.note(f"layer {name}")
    return layer(query.setting.model, name)


def activations(query: Query, chosen: nn.Module) -> Tensor:
    """What the layer makes of the samples: (N, C, h, w)."""
    with _noted(chosen) as seen, torch.no_grad():
        query.setting.model(query.x)
    return _last(seen)


def activations_and_gradients(query: Query, chosen: nn.Module) -> tuple[Tensor, Tensor]:
    """What the layer makes of the samples, and the explained number's gradient there: (N, C, h, w) both."""
    with _noted(chosen) as seen, torch.enable_grad():
        scores = query.module(query.x.detach().requires_grad_()).gather(1, query.target.unsqueeze(1))
        (gradient,) = torch.autograd.grad(scores.sum(), _last(seen), materialize_grads=True)
    return _last(seen).detach(), gradient


def combined(weights: Tensor, maps: Tensor) -> Tensor:
    """Weights times channels, added up: (N, 1, h, w)."""
    return (weights * maps).sum(dim=1, keepdim=True)


def enlarged(query: Query, maps: Tensor, relu: bool) -> Tensor:
    """(N, 1, h, w) as one number per pixel; ``relu`` first cuts off what speaks against the class."""
    return resized(query, maps.clamp(min=0) if relu else maps).squeeze(1)


def resized(query: Query, maps: Tensor) -> Tensor:
    """(N, C, h, w) in the image's height and width, bilinear."""
    return interpolate(maps, query.setting.features.shape, mode="bilinear", align_corners=False)


def _last_map(query: Query) -> str:
    """Who returned the last image of more than one pixel. Of a residual block this is the block, after its sum, and not
    the last layer of its branch; of several modules that return the same image it is the innermost. What a pooling
    layer returns is the image before it, coarser: it counts only where there is nothing else.
    """
    x = query.x[:1]
    with torch.no_grad():
        found = [one for one in returned(query.setting.model, x) if one.output is not x]
    maps = [one for one in found if one.output.dim() == 4 and min(one.output.shape[2:]) > 1]
    pools = [one for one in maps if isinstance(one.module, POOLS)]
    kept = [one for one in maps if not any(one.same(pool) for pool in pools)] or pools
    if not kept:
        raise NotApplicable("needs a convolutional layer")
    return next(one.name for one in kept if one.same(kept[-1]))


@contextmanager
def _noted(chosen: nn.Module) -> Iterator[list[Tensor]]:
    """What the layer returns in this scope, one entry for each time it runs."""
    seen: list[Tensor] = []

    def keep(_module: nn.Module, _inputs: Any, output: Any) -> Any:
        seen.append(output)
        return output.clone() if isinstance(output, Tensor) else output  # what comes next may work in place

    with watched([chosen], keep):
        yield seen


def _last(seen: list[Tensor]) -> Tensor:
    if not seen:
        raise NotApplicable("needs a layer that the model uses, and it does not call the chosen one")
    if not isinstance(seen[-1], Tensor) or seen[-1].dim() != 4:
        raise NotApplicable("needs a convolutional layer, and the chosen one does not return an image")
    return seen[-1]
