"""Images as a network reads them: resized, cropped in the middle, colours standardised."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from assay.core.errors import SpecError

LARGEST = 4096  # pixels of a side
RESIZE, SIDE = 256, 224  # what most networks for photographs were trained on
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of the colours of ImageNet


@dataclass(frozen=True)
class Preparation:
    """From an image to what the network reads, and back to colours."""

    resize: int | None = RESIZE  # pixels of the shorter side, before the middle is cut out; None: the size is kept
    side: int | None = SIDE  # pixels of the square that is cut out
    mean: tuple[float, ...] = MEAN  # subtracted from each colour; one number: grey images
    deviation: tuple[float, ...] = DEVIATION  # by which each colour is divided after that

    def cut_out(self, image: Image.Image) -> Tensor:
        """Colours of the middle in 0..1, (channels, side, side). Sizes are rounded as in torchvision."""
        image = image.convert("L" if len(self.mean) == 1 else "RGB")
        if self.resize is not None and self.side is not None:
            shorter = min(image.size)
            width, height = (self.resize if size == shorter else self.resize * size // shorter for size in image.size)
            left, top = (round((size - self.side) / 2) for size in (width, height))
            resized = image.resize((width, height), Image.Resampling.BILINEAR)
            image = resized.crop((left, top, left + self.side, top + self.side))
        pixels = np.array(image)
        return torch.from_numpy(pixels.reshape(*pixels.shape[:2], -1)).permute(2, 0, 1).float() / 255

    def standardised(self, pixels: Tensor) -> Tensor:
        mean, deviation = self._colours(pixels)
        return (pixels - mean) / deviation

    def picture(self, x: Tensor) -> Tensor:
        """Colours in 0..1, (..., 3, height, width)."""
        mean, deviation = self._colours(x)
        return (x * deviation + mean).clamp(0, 1).expand(*x.shape[:-3], 3, *x.shape[-2:])

    def _colours(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and deviation, (channels, 1, 1)."""
        mean, deviation = torch.tensor((self.mean, self.deviation), dtype=like.dtype, device=like.device)
        return mean[:, None, None], deviation[:, None, None]


def check_preparation(
    resize: int | None,
    side: int | None,
    mean: tuple[float, ...] | None,
    deviation: tuple[float, ...] | None,
    prefix: str = "",
) -> None:
    """SpecError where the numbers do not fit each other; None stands for one that does."""
    side, resize = side if side is not None else resize, resize if resize is not None else side
    if side is not None and resize is not None and not 1 <= side <= resize <= LARGEST:
        raise SpecError(
            f"{prefix}side={side} cannot be cut out of images of resize={resize} pixels: write "
            f"1 <= side <= resize <= {LARGEST}."
        )
    counts = {len(numbers or ()) for numbers in (mean, deviation)}
    if (mean, deviation) != (None, None) and (counts not in ({1}, {3}) or min(deviation or (0,)) <= 0):
        raise SpecError(
            f"{prefix}mean={mean} and deviation={deviation} need three numbers each, for red, green and "
            "blue, or one for grey, and deviations above 0."
        )
