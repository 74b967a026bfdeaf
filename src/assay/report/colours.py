"""The colours of signed numbers: blue below 0, white at 0, red above."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PIL import Image

from assay.engine.store.arrays import Array

Colour = tuple[int, int, int]

# After ColorBrewer's RdBu, with lighter ends: its own are so dark that red and blue look alike in small spots.
_BLUE_WHITE_RED = "1c4e9e 2f79b9 5ba2cd 9ecae1 d6e6f2 ffffff fde0d2 f7b799 e58368 cb4b42 a91427"
_LEVELS = 127  # on either side of white
_DARK, _LIGHT = (29, 33, 39), (255, 255, 255)  # letters
_DARKEST = 120  # brightness of a background up to which letters are light


def _palette() -> npt.NDArray[np.uint8]:
    anchors = np.array([list(bytes.fromhex(colour)) for colour in _BLUE_WHITE_RED.split()], dtype=np.float64)
    positions = np.linspace(0, len(anchors) - 1, 2 * _LEVELS + 1)
    channels = [np.interp(positions, range(len(anchors)), anchors[:, channel]) for channel in range(3)]
    return np.stack(channels, axis=1).round().astype(np.uint8)


PALETTE = _palette()  # (levels, 3), white in the middle


def diverging(values: Array, largest: float | None = None) -> Image.Image:
    """A signed map (H, W), its colours from minus to plus ``largest``, by default its largest absolute value."""
    picture = Image.fromarray(_levels(values, scale_of(values, largest))).convert("P")
    picture.putpalette(PALETTE.ravel().tolist())
    return picture


def colour(value: float, largest: float) -> Colour:
    """The colour of one number on a scale from minus to plus ``largest``."""
    red, green, blue = PALETTE[int(_levels(np.array(value), largest))].tolist()
    return red, green, blue


def letters_on(background: Colour) -> Colour:
    """The colour of letters that can be read on this one."""
    return _LIGHT if np.dot(background, (0.299, 0.587, 0.114)) < _DARKEST else _DARK


def css(colour: Colour) -> str:
    return "#" + bytes(colour).hex()


def scale_of(values: Array, largest: float | None = None) -> float:
    """The end of a scale: ``largest``, or the largest absolute value."""
    return (float(np.abs(values).max()) if values.size else 0.0) if largest is None else largest


def caption(values: Array) -> str:
    """What colours do not show: the largest absolute value, or that all are equal."""
    largest = scale_of(values)
    if largest == 0:
        return "0 everywhere"
    return f"{values.flat[0]:.3g} everywhere" if np.ptp(values) == 0 and values.size > 1 else f"± {largest:.3g}"


def ramp(width: int, height: int) -> Image.Image:
    """The colours of the scale from left to right."""
    return diverging(np.linspace(-1, 1, width)[None].repeat(height, axis=0)).convert("RGB")


def _levels(values: Array, largest: float) -> npt.NDArray[np.uint8]:
    unit = np.clip(values / largest, -1, 1) if largest > 0 else np.zeros_like(values)
    return (np.round(unit * _LEVELS) + _LEVELS).astype(np.uint8)
