"""Arrays as pictures, drawn with numpy and Pillow only."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from assay.engine.store.arrays import Array
from assay.report import contact_sheet
from assay.report.components import by_label
from assay.report.loaded_run import LoadedRun
from assay.report.ranked_bars import NOTE as RANKED_NOTE
from assay.report.ranked_bars import RankedBars, ranked_bars
from assay.report.samples import GallerySamples, gallery_samples, largest_features
from assay.report.text import slug

Colour = tuple[int, int, int]

SIDE = 168  # smallest size of a picture in pixels
STEP = 18  # height of a bar
MAP_NOTE = (
    "Red raises the explained answer, blue lowers it, white is 0. Every map has a scale of its own: from minus to plus "
    "its largest absolute value. Compare where colour lies, not how strong it is between maps; damaged maps and their "
    "originals alone have one scale, from minus to plus 1."
)
BAR_NOTE = "Red is above 0, blue below. Every column of bars has a scale of its own."
# After ColorBrewer's RdBu, with lighter ends: its own are so dark that red and blue look alike in small spots.
_BLUE_WHITE_RED = "1c4e9e 2f79b9 5ba2cd 9ecae1 d6e6f2 ffffff fde0d2 f7b799 e58368 cb4b42 a91427"
_INFORMATIVE, _NOISE = (0, 114, 178), (213, 94, 0)
_NAMES = 72  # width of the names beside bars of their own order
_LEVELS = 127  # on either side of white


def _palette() -> list[int]:
    anchors = np.array([list(bytes.fromhex(colour)) for colour in _BLUE_WHITE_RED.split()], dtype=np.float64)
    positions = np.linspace(0, len(anchors) - 1, 2 * _LEVELS + 1)
    channels = [np.interp(positions, range(len(anchors)), anchors[:, channel]) for channel in range(3)]
    return [int(value) for value in np.stack(channels, axis=1).round().ravel()]


def diverging(values: Array, largest: float | None = None) -> Image.Image:
    """A signed map (H, W): blue below zero, white at zero, red above, from minus to plus ``largest``, by default its
    largest absolute value."""
    largest = float(np.abs(values).max()) if largest is None else largest
    unit = values / largest if largest > 0 else np.zeros_like(values)
    picture = Image.fromarray((np.round(unit * _LEVELS) + _LEVELS).astype(np.uint8)).convert("P")
    picture.putpalette(_palette())
    return picture


def span(x: Array) -> tuple[float, float]:
    """The values drawn black and white in a set of inputs: 0 and 1, 0 and 255, or its smallest and largest."""
    low, high = float(x.min()), float(x.max())
    if low >= 0 and high <= 255:
        return 0.0, 1.0 if high <= 1 else 255.0
    return low, high


def picture(x: Array, ends: tuple[float, float]) -> Image.Image:
    """An input (C, H, W) in its own colours; channels are averaged unless there are one or three."""
    low, high = ends
    unit = np.clip((x.astype(np.float64) - low) / ((high - low) or 1.0), 0, 1)
    channels = unit if len(unit) in (1, 3) else unit.mean(axis=0, keepdims=True)
    pixels = np.round(channels * 255).astype(np.uint8)
    return Image.fromarray(pixels[0] if len(pixels) == 1 else np.moveaxis(pixels, 0, -1).copy())


def enlarged(image: Image.Image, least: int = SIDE) -> Image.Image:
    """Enlarged by a whole factor, so that every pixel stays a square of one colour."""
    factor = max(1, math.ceil(least / max(image.size)))
    return image.resize((image.width * factor, image.height * factor), Image.Resampling.NEAREST)


def bars(values: Array, height: int = STEP, width: int = SIDE, colours: Sequence[Colour] | None = None) -> Image.Image:
    """A row of numbers as bars to either side of a middle line, longest for the largest absolute value. By default red
    above 0, blue below."""
    largest = float(np.abs(values).max()) or 1.0
    canvas = Image.new("RGB", (width, height * len(values)), "white")
    middle, half = width // 2, width // 2 - 4
    canvas.paste((190, 190, 190), (middle, 0, middle + 1, canvas.height))
    for index, value in enumerate(values):
        end = middle + round(float(value) / largest * half)
        colour = colours[index] if colours else (178, 24, 43) if value > 0 else (33, 102, 172)
        canvas.paste(colour, (min(middle, end), index * height + 2, max(middle, end) + 1, (index + 1) * height - 2))
    return canvas


def caption(values: Array) -> str:
    """What the colours of a map do not show: its largest absolute value, or that it is constant."""
    largest = float(np.abs(values).max())
    if largest == 0:
        return "0 everywhere"
    return f"{values.flat[0]:.3g} everywhere" if np.ptp(values) == 0 else f"± {largest:.3g}"


def gallery_sheets(loaded: LoadedRun, folder: Path) -> Iterator[Path]:
    """Write one contact sheet per environment of the gallery: input, truth and attributions side by side."""
    controls = {label for label, method in by_label(loaded.run, "methods").items() if method.control}
    for index, samples in enumerate(gallery_samples(loaded), 1):
        path = folder / f"gallery-{index:02d}-{slug(samples.environment)}.png"
        draw_contact_sheet(samples, loaded.ranked_methods(samples.environment), controls).save(path, optimize=True)
        yield path


def draw_contact_sheet(samples: GallerySamples, methods: Sequence[str], controls: Collection[str] = ()) -> Image.Image:
    """A contact sheet: a row per sample, a column for the input, the truth and each method."""
    if samples.x is None or samples.maps is None:
        return contact_sheet.message_sheet(samples.environment, samples.reason)
    truth = {} if samples.truth is None else {"truth": samples.truth}
    maps = {method: samples.maps[method] for method in methods if method in samples.maps}
    columns = [*truth.values(), *maps.values()]
    scales = [1.0 if name in samples.one_scale else None for name in (*truth, *maps)]
    heads = ["input", *truth, *(f"{name}\n(control)" if name in controls else name for name in maps)]
    names = [samples.title(sample).replace(", ", "\n") for sample in range(len(samples))] if samples.classes else []
    if samples.ranked:
        rows = [[_ranked_tile(panel) for panel in ranked_bars(samples, at, columns)] for at in range(len(samples))]
        return contact_sheet.compose(samples.environment, heads[1:], rows, names, RANKED_NOTE)
    if samples.kind == "image":
        ends = span(samples.x)
        rows = [_image_row(picture(x, ends), columns, scales, sample) for sample, x in enumerate(samples.x)]
        return contact_sheet.compose(samples.environment, heads, rows, names, MAP_NOTE)
    rows = [_bar_row(samples, columns, sample) for sample in range(len(samples))]
    return contact_sheet.compose(samples.environment, ["feature", *heads], rows, names, BAR_NOTE)


def _ranked_tile(panel: RankedBars | str) -> contact_sheet.Tile:
    if isinstance(panel, str):
        return None, panel
    names = contact_sheet.label_column([bar.name for bar in panel.bars], STEP, _NAMES)
    colours = [_INFORMATIVE if bar.informative else _NOISE for bar in panel.bars]
    drawn = bars(np.array([bar.value for bar in panel.bars]), colours=colours)
    canvas = Image.new("RGB", (names.width + drawn.width, drawn.height))
    canvas.paste(names, (0, 0))
    canvas.paste(drawn, (names.width, 0))
    return canvas, panel.caption


def _image_row(
    x: Image.Image, columns: Sequence[Array | str], scales: Sequence[float | None], sample: int
) -> list[contact_sheet.Tile]:
    return [
        (enlarged(x), ""),
        *(
            _tile(column, sample, lambda values, scale=scale: enlarged(diverging(values, scale)))  # type: ignore[misc]
            for column, scale in zip(columns, scales, strict=True)
        ),
    ]


def _bar_row(samples: GallerySamples, columns: Sequence[Array | str], sample: int) -> list[contact_sheet.Tile]:
    assert samples.x is not None
    x = samples.x.reshape(len(samples), -1)
    weights = next((column for column in columns if not isinstance(column, str)), x)
    features = largest_features(weights[sample].ravel())
    first: Array | str = x if x.shape[1] == weights[sample].size else "more than one number per feature"
    names = contact_sheet.label_column([samples.name(feature) for feature in features], STEP, SIDE)
    tiles = [_tile(column, sample, lambda values: bars(values.ravel()[features])) for column in (first, *columns)]
    return [(names, ""), *tiles]


def _tile(column: Array | str, sample: int, draw: Callable[[Array], Image.Image]) -> contact_sheet.Tile:
    return (None, column) if isinstance(column, str) else (draw(column[sample]), caption(column[sample]))
