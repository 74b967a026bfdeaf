"""Canny's edges as an attribution (Canny, 1986)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from scipy.ndimage import label
from torch import Tensor
from torch.nn.functional import conv2d, pad

from assay.core.errors import NotApplicable, SpecError
from assay.core.query import Query

LUMINANCE = (9798, 19235, 3735)  # weights of red, green and blue in 2^15ths
TANGENT = 13573  # of 22.5 degrees, in 2^15ths
SOBEL = ((-1.0, 0.0, 1.0), (-2.0, 0.0, 2.0), (-1.0, 0.0, 1.0))


@dataclass(frozen=True)
class CannyEdges:
    """1 on Canny's edges, else 0: thin ridges of the brightness's slope that are connected to a steep one.

    OpenCV's algorithm on whole numbers. The slope is abs(dx) + abs(dy) of 3 x 3 Sobel kernels. An edge pixel has the
    largest slope across the edge, above ``low``, and is connected to one above ``high``. "faithful" is the study's
    code: the image as the model reads it, times 255, cut to 8 bits, so that negative numbers wrap around. "corrected":
    each image is stretched to 0..255 first. Ours: the stretching, because a query does not know how an image was
    normalised; the rounded mean over channels if there are not three (red, green, blue).
    """

    low: float = 100.0  # slope that continues an edge, on a scale of 255
    high: float = 200.0  # slope that starts an edge
    form: Literal["faithful", "corrected"] = "corrected"  # wrapped to 8 bits (the study's code), or stretched to 0..255

    paper: ClassVar[str] = "Canny, 1986"
    control: ClassVar[bool] = True  # knows nothing about the model

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.high:
            raise SpecError(f"canny_edges: low={self.low}, high={self.high}. Choose 0 <= low <= high.")

    def __call__(self, query: Query) -> Tensor:
        if query.setting.kind != "image":
            raise NotApplicable(f"needs an image, and this is {query.setting.kind} data")
        grey = _brightness(_wrapped(query.x) if self.form == "faithful" else _stretched(query.x))
        slope, ridge = _ridges(grey)
        return _connected(ridge & (slope > self.low), ridge & (slope > self.high)).to(query.x)


def _wrapped(x: Tensor) -> Tensor:
    """The last 8 bits of 255 times each number."""
    return (x * 255).trunc().long() % 256


def _stretched(x: Tensor) -> Tensor:
    """Whole numbers from 0 at an image's smallest entry to 255 at its largest; 0 if all entries are equal."""
    values = x.double()
    low, high = values.amin(dim=(1, 2, 3), keepdim=True), values.amax(dim=(1, 2, 3), keepdim=True)
    span = torch.where(high > low, high - low, 1.0)
    return ((values - low) / span * 255).round().long()


def _brightness(levels: Tensor) -> Tensor:
    """(B, C, H, W) -> (B, H, W), whole numbers; halves are rounded up."""
    channels = levels.shape[1]
    if channels != len(LUMINANCE):
        return (2 * levels.sum(dim=1) + channels) // (2 * channels)
    weights = torch.tensor(LUMINANCE, device=levels.device)[:, None, None]
    return ((levels * weights).sum(dim=1) + 2**14) >> 15


def _ridges(grey: Tensor) -> tuple[Tensor, Tensor]:
    """The slope at each pixel, and where it is largest across the edge; outside the image it is 0."""
    kernel = torch.tensor(SOBEL, dtype=torch.float64, device=grey.device)
    padded = pad(grey.double().unsqueeze(1), [1] * 4, mode="replicate")
    across, down = conv2d(padded, torch.stack([kernel, kernel.T]).unsqueeze(1)).round().long().unbind(dim=1)
    slope = across.abs() + down.abs()
    height, width = grey.shape[1:]
    padded_slope = pad(slope, [1] * 4)

    def at(row: int, column: int) -> Tensor:
        return padded_slope[:, 1 + row : 1 + row + height, 1 + column : 1 + column + width]

    scaled_down, tangent_across = down.abs() << 15, across.abs() * TANGENT
    horizontal, vertical = scaled_down < tangent_across, scaled_down > tangent_across + (across.abs() << 16)
    peak_horizontal = (slope > at(0, -1)) & (slope >= at(0, 1))
    peak_vertical = (slope > at(-1, 0)) & (slope >= at(1, 0))
    peak_falling = (slope > at(-1, -1)) & (slope > at(1, 1))
    peak_rising = (slope > at(-1, 1)) & (slope > at(1, -1))
    peak_diagonal = torch.where((across < 0) ^ (down < 0), peak_rising, peak_falling)
    return slope, torch.where(horizontal, peak_horizontal, torch.where(vertical, peak_vertical, peak_diagonal))


def _connected(weak: Tensor, strong: Tensor) -> Tensor:
    """Weak pixels that are connected to a strong one, along sides and corners; never across images."""
    neighbours = np.zeros((3, 3, 3), dtype=int)
    neighbours[1] = 1
    pieces, count = label(weak.cpu().numpy(), neighbours)
    has_strong = np.zeros(count + 1, dtype=bool)
    has_strong[pieces[strong.cpu().numpy()]] = True
    return torch.from_numpy(has_strong[pieces])
