"""The same images in other units: colours minus other means, over other deviations."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from assay.core.errors import SpecError
from assay.train.networks import Standardise, standardised

CLOSE = 1e-4  # of the largest entry: what float32 leaves of a change of units


def in_units_of(x: Tensor, other: Tensor, model: nn.Module) -> tuple[nn.Module, str]:
    """A model that reads images like ``other``, made to read images like ``x``; and what its layers' names begin with.

    Both (N, C, H, W) are the same images; a factor and a shift for each channel are found from them.
    """
    if torch.equal(x, other):
        return model, ""
    if x.dim() != 4 or x.shape != other.shape:
        raise SpecError(_OTHER)
    left, right = (images.double().transpose(0, 1).flatten(1) for images in (x, other))  # (C, entries)
    factor = left.std(dim=1, correction=0) / right.std(dim=1, correction=0)
    shift = left.mean(dim=1) - factor * right.mean(dim=1)
    again = (left - shift[:, None]) / factor[:, None]
    if not bool((again - right).abs().amax() <= CLOSE * right.abs().amax()):
        raise SpecError(_OTHER)
    units = Standardise(*(numbers.to(x.dtype).view(-1, 1, 1) for numbers in (shift, factor)))
    return standardised(units, model).eval(), "network."


_OTHER = "beside: the two environments have different samples. A sibling is another model for the same ones."
