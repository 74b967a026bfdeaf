"""Arrays as pictures, with numpy and Pillow alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from assay.core.records import Record
from assay.report import sheet
from assay.report.components import by_label
from assay.report.reading import read
from assay.report.shown import Shown, salient, shown
from assay.report.words import slug
from assay.store.artifacts import Array
from assay.store.store import Store

SIDE = 168  # least size of a picture in pixels
STEP = 18  # height of a bar
MAP_NOTE = (
    "Red raises the explained answer, blue lowers it, white is 0. Every map has a scale of its own: from minus to plus "
    "its largest absolute value. Compare where colour lies, not how strong it is between maps."
)
BAR_NOTE = "Red is above 0, blue below. Every column of bars has a scale of its own."
# After ColorBrewer's RdBu, with lighter ends: its own are so dark that red and blue look alike in small spots.
_BLUE_WHITE_RED = "1c4e9e 2f79b9 5ba2cd 9ecae1 d6e6f2 ffffff fde0d2 f7b799 e58368 cb4b42 a91427"
_LEVELS = 127  # on either side of white


def _palette() -> list[int]:
    anchors = np.array([list(bytes.fromhex(colour)) for colour in _BLUE_WHITE_RED.split()], dtype=np.float64)
    places = np.linspace(0, len(anchors) - 1, 2 * _LEVELS + 1)
    channels = [np.interp(places, range(len(anchors)), anchors[:, channel]) for channel in range(3)]
    return [int(value) for value in np.stack(channels, axis=1).round().ravel()]


def diverging(values: Array) -> Image.Image:
    """A signed map (H, W): blue below zero, white at zero, red above, from minus to plus its largest absolute value."""
    largest = float(np.abs(values).max())
    unit = values / largest if largest > 0 else np.zeros_like(values)
    picture = Image.fromarray((np.round(unit * _LEVELS) + _LEVELS).astype(np.uint8)).convert("P")
    picture.putpalette(_palette())
    return picture


def span(x: Array) -> tuple[float, float]:
    """The values that are black and white in a set of inputs: 0 and 1, 0 and 255, or else its smallest and largest."""
    low, high = float(x.min()), float(x.max())
    if low >= 0 and high <= 255:
        return 0.0, 1.0 if high <= 1 else 255.0
    return low, high


def picture(x: Array, ends: tuple[float, float]) -> Image.Image:
    """An input (C, H, W) in its own colours; other than one or three channels are averaged."""
    low, high = ends
    unit = np.clip((x.astype(np.float64) - low) / ((high - low) or 1.0), 0, 1)
    channels = unit if len(unit) in (1, 3) else unit.mean(axis=0, keepdims=True)
    pixels = np.round(channels * 255).astype(np.uint8)
    return Image.fromarray(pixels[0] if len(pixels) == 1 else np.moveaxis(pixels, 0, -1).copy())


def enlarged(image: Image.Image, least: int = SIDE) -> Image.Image:
    """Whole multiples only, so that a pixel stays a square of one colour."""
    factor = max(1, math.ceil(least / max(image.size)))
    return image.resize((image.width * factor, image.height * factor), Image.Resampling.NEAREST)


def bars(values: Array, height: int = STEP, width: int = SIDE) -> Image.Image:
    """A row of numbers as bars to either side of a middle line, longest for the largest absolute value."""
    largest = float(np.abs(values).max()) or 1.0
    canvas = Image.new("RGB", (width, height * len(values)), "white")
    middle, half = width // 2, width // 2 - 4
    canvas.paste((190, 190, 190), (middle, 0, middle + 1, canvas.height))
    for index, value in enumerate(values):
        end = middle + round(float(value) / largest * half)
        colour = (178, 24, 43) if value > 0 else (33, 102, 172)
        canvas.paste(colour, (min(middle, end), index * height + 2, max(middle, end) + 1, (index + 1) * height - 2))
    return canvas


def caption(values: Array) -> str:
    """What a map alone does not show: its size, or that there is nothing in it."""
    largest = float(np.abs(values).max())
    if largest == 0:
        return "0 everywhere"
    return f"{values.flat[0]:.3g} everywhere" if np.ptp(values) == 0 else f"± {largest:.3g}"


def figures(store: Store, folder: Path, run: Record | None = None) -> list[Path]:
    """One contact sheet per environment of the gallery: input, truth and attributions side by side."""
    reading = read(store, run)
    controls = {label for label, found in by_label(reading.run, "methods").items() if found.control}
    paths = []
    folder.mkdir(parents=True, exist_ok=True)
    for index, found in enumerate(shown(reading), 1):
        path = folder / f"gallery-{index:02d}-{slug(found.environment)}.png"
        strip(found, reading.ranked(found.environment), controls).save(path, optimize=True)
        paths.append(path)
    return paths


def strip(found: Shown, methods: Sequence[str], controls: Collection[str] = ()) -> Image.Image:
    """A contact sheet: a row per sample, a column for the input, the truth and each method."""
    if found.x is None or found.maps is None:
        return sheet.message(found.environment, found.reason)
    truth = {} if found.truth is None else {"truth": found.truth}
    maps = {method: found.maps[method] for method in methods if method in found.maps}
    columns = [*truth.values(), *maps.values()]
    heads = ["input", *truth, *(f"{name}\n(control)" if name in controls else name for name in maps)]
    if found.kind == "image":
        ends = span(found.x)
        rows = [_image_row(picture(x, ends), columns, sample) for sample, x in enumerate(found.x)]
        return sheet.compose(found.environment, heads, rows, found.classes, MAP_NOTE)
    rows = [_bar_row(found, columns, sample) for sample in range(len(found))]
    return sheet.compose(found.environment, ["feature", *heads], rows, found.classes, BAR_NOTE)


def _image_row(x: Image.Image, columns: Sequence[Array | str], sample: int) -> list[sheet.Tile]:
    return [
        (enlarged(x), ""),
        *(_tile(column, sample, lambda values: enlarged(diverging(values))) for column in columns),
    ]


def _bar_row(found: Shown, columns: Sequence[Array | str], sample: int) -> list[sheet.Tile]:
    assert found.x is not None
    x = found.x.reshape(len(found), -1)
    known = next((column for column in columns if not isinstance(column, str)), x)
    kept = salient(known[sample].ravel())
    first: Array | str = x if x.shape[1] == known[sample].size else "more than one number per feature"
    names = sheet.labels([found.name(index) for index in kept], STEP, SIDE)
    tiles = [_tile(column, sample, lambda values: bars(values.ravel()[kept])) for column in (first, *columns)]
    return [(names, ""), *tiles]


def _tile(column: Array | str, sample: int, draw: Callable[[Array], Image.Image]) -> sheet.Tile:
    return (None, column) if isinstance(column, str) else (draw(column[sample]), caption(column[sample]))
