"""The same images in other units of colour: another mean subtracted, another deviation divided by."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from assay.core.errors import SpecError
from assay.train.networks import Standardise, standardised

TOLERANCE = 1e-4  # of the largest entry: float32 error of a change of units


def in_units_of(x: Tensor, other: Tensor, model: nn.Module) -> tuple[nn.Module, str]:
    """Make a model that reads images like ``other`` read images like ``x``; also returns the prefix of layer names.

    Both (N, C, H, W) are the same images. A factor and a shift per channel are computed from them.
    """
    if torch.equal(x, other):
        return model, ""
    if x.dim() != 4 or x.shape != other.shape:
        raise SpecError(_DIFFERENT_SAMPLES)
    ours, theirs = (images.double().transpose(0, 1).flatten(1) for images in (x, other))  # (C, entries)
    factor = ours.std(dim=1, correction=0) / theirs.std(dim=1, correction=0)
    shift = ours.mean(dim=1) - factor * theirs.mean(dim=1)
    converted = (ours - shift[:, None]) / factor[:, None]
    if not bool((converted - theirs).abs().amax() <= TOLERANCE * theirs.abs().amax()):
        raise SpecError(_DIFFERENT_SAMPLES)
    units = Standardise(*(numbers.to(x.dtype).view(-1, 1, 1) for numbers in (shift, factor)))
    return standardised(units, model).eval(), "network."


_DIFFERENT_SAMPLES = "beside: the two environments have different samples. A sibling must have the same ones."
