"""Black images with speckled white patches, for the single-colour environments (AttributionLab, appendix F.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from assay.core.rng import Draws, Key
from assay.core.setting import DrawnReference, Reference, Samples, Truth
from assay.craft.accumulate import layer_hints
from assay.kit.patches import bezier, scatter, speckle

PAPER_SIDE = 224
PAPER_RADII = (22.7, 37.4)  # ours: they give the white area that the paper's Table 4 implies


def white_hints(network: nn.Module) -> dict[str, str]:
    """The paper's layers, ``layers.5`` and ``layers.11`` of its network; the corresponding ones in other networks."""
    return layer_hints(network, grad_cam=(1, "first"), iba=(2, "last"))


def white_pixels(keys: Sequence[Key], patches: int, radii: tuple[float, float] | None, side: int) -> Tensor:
    """Bool (B, side, side): Bézier patches whose pixels are white with probability 1/2, one image per key."""
    draws = Draws(keys)
    low, high = radii or (radius * side / PAPER_SIDE for radius in PAPER_RADII)
    sizes = low + (high - low) * draws.uniform(patches)
    centres = scatter(draws, sizes, side)
    return speckle(draws, bezier(draws, centres, sizes, side)).any(dim=1)


def white_reference(draw: Callable[[Sequence[int]], Tensor], count: int) -> Reference | None:
    """``count`` images for methods that need reference data; None for 0."""

    def reference() -> Reference:
        samples = white_samples(draw(range(count)), range(count))
        return Reference(samples.x, samples.label)

    return DrawnReference(reference) if count else None


def white_samples(white: Tensor, indices: Sequence[int]) -> Samples:
    """White pixels are 1 and have effect 1, all others are 0 and have effect 0. One output, so the label is 0."""
    label = torch.zeros(len(white), dtype=torch.long)
    return Samples(white[:, None].float(), label, Truth(white.float()), tuple(indices))
