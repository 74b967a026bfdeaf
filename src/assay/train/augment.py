"""Augmentation of training pictures, drawn anew for every batch."""

from __future__ import annotations

import torch
from torch import Generator, Tensor
from torch.nn.functional import pad


def shifted(margin: int, x: Tensor, generator: Generator) -> Tensor:
    """Each picture (N, C, H, W) shifted by up to ``margin`` pixels, filled with zeros, and half of them mirrored.

    The usual augmentation for CIFAR: a random crop of the padded picture and a horizontal flip. Zeros are the mean
    colour if x is normalised; the usual augmentation pads with black.
    """
    count, _, height, width = x.shape
    moves = torch.randint(2 * margin + 1, (2, count, 1), generator=generator)
    mirrored = torch.rand(count, 1, generator=generator) < 0.5
    across = torch.arange(width).expand(count, width)
    across = torch.where(mirrored, across.flip(1), across)
    rows = (moves[0] + torch.arange(height)).to(x.device)
    columns = (moves[1] + across).to(x.device)
    padded = pad(x, (margin, margin, margin, margin))
    picture = torch.arange(count, device=x.device)
    chosen = padded.permute(0, 2, 3, 1)[picture[:, None, None], rows[:, :, None], columns[:, None, :]]
    return chosen.permute(0, 3, 1, 2).contiguous()
