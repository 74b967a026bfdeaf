"""Random perturbations of an input: removed features, and noise."""

from __future__ import annotations

import torch
from torch import Tensor

from assay.core.errors import NotApplicable
from assay.core.trial import Scene


def removed_sets(scene: Scene, count: int, share: float) -> Tensor:
    """Sets of removed features (count, *features), shared by all samples.

    Each feature is removed with probability ``share``; a set that would be empty gets one random feature.
    """
    shape = scene.setting.features.shape
    size = int(torch.Size(shape).numel())
    stream = scene.generator("sets")
    removed = torch.rand(count, size, generator=stream) < share
    fallback = torch.randint(size, (count, 1), generator=stream)
    single = torch.zeros_like(removed).scatter_(1, fallback, value=True)
    removed = torch.where(removed.any(dim=1, keepdim=True), removed, single)
    return removed.view(count, *shape).to(scene.samples.x.device)


def removed_squares(scene: Scene, count: int, share: float) -> Tensor:
    """Pixels (count, height, width) of random squares inside the image. Shared by all samples.

    Sides are uniform from 1 pixel to ``share`` of the image's shorter side, positions are uniform.
    """
    if scene.setting.kind != "image":
        raise NotApplicable(f"removes squares of images, and this is {scene.setting.kind} data: write 'removal'")
    height, width = scene.setting.features.shape
    stream = scene.generator("squares")
    largest = max(1, round(share * min(height, width)))
    side = torch.randint(1, largest + 1, (count,), generator=stream)
    position = torch.rand(2, count, generator=stream, dtype=torch.float64)
    top, left = ((position * torch.stack([height - side + 1, width - side + 1])).floor().long()).unbind()
    down = _between(torch.arange(height), top, side)
    across = _between(torch.arange(width), left, side)
    return (down[:, :, None] & across[:, None, :]).to(scene.samples.x.device)


def noise(scene: Scene, index: int) -> Tensor:
    """Standard normal numbers (*entries) of perturbation ``index``, shared by all samples."""
    drawn = torch.randn(scene.setting.features.entries, generator=scene.generator(f"noise {index}"))
    return drawn.to(scene.samples.x)


def _between(position: Tensor, start: Tensor, length: Tensor) -> Tensor:
    return (position >= start[:, None]) & (position < (start + length)[:, None])
