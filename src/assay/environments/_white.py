"""Black images with speckled white patches, for the single-colour environments (AttributionLab, appendix F.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from assay.core.rng import Draws, Key
from assay.core.setting import Reference, Samples, Truth
from assay.craft.accumulate import hints
from assay.kit.draw import bezier, scatter, speckle

PAPER_SIDE = 224
PAPER_RADII = (22.7, 37.4)  # ours: they give the white area that the paper's Table 4 implies


def white_hints(network: nn.Module) -> dict[str, str]:
    """The paper's layers, ``layers.5`` and ``layers.11`` of its network, where a network has them."""
    return hints(network, grad_cam=(1, "first"), iba=(2, "last"))


def white_pixels(keys: Sequence[Key], patches: int, radii: tuple[float, float] | None, side: int) -> Tensor:
    """Bool (B, side, side): Bézier patches whose pixels are white with probability 1/2, one image a key."""
    draws = Draws(keys)
    low, high = radii or (radius * side / PAPER_SIDE for radius in PAPER_RADII)
    sizes = low + (high - low) * draws.uniform(patches)
    centres = scatter(draws, sizes, side)
    return speckle(draws, bezier(draws, centres, sizes, side)).any(dim=1)


def white_reference(draw: Callable[[Sequence[int]], Tensor], count: int) -> Reference | None:
    """So many images for methods that look at data first."""
    if not count:
        return None
    samples = white_samples(draw(range(count)), range(count))
    return Reference(samples.x, samples.label)


def white_samples(white: Tensor, indices: Sequence[int]) -> Samples:
    """White is 1 and has effect 1; everything else is 0 and has none. One output, so the label is 0."""
    label = torch.zeros(len(white), dtype=torch.long)
    return Samples(white[:, None].float(), label, Truth(white.float()), tuple(indices))
