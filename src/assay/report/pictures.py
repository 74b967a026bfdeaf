"""Samples and attributions as pictures, drawn with numpy and Pillow only."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from assay.engine.store.arrays import Array
from assay.report import contact_sheet, series
from assay.report.colours import Colour, caption, diverging, scale_of
from assay.report.components import by_label
from assay.report.contact_sheet import Sheet, Tile, compose
from assay.report.feature_bars import BarColumn, feature_bars
from assay.report.loaded_run import LoadedRun
from assay.report.ranked_bars import NOTE as RANKED_NOTE
from assay.report.ranked_bars import RankedBars, ranked_bars
from assay.report.samples import GallerySamples, gallery_samples
from assay.report.text import slug
from assay.report.words import coloured, draw_words

SIDE = 168  # smallest size of a picture in pixels
STEP = 18  # height of a bar
MAP_NOTE = (
    "Red raises the explained answer, blue lowers it, white is 0. Every map has a scale of its own: from minus to plus "
    "its largest absolute value. Compare where colour lies, not how strong it is between maps"
)
DAMAGE_NOTE = "; damaged maps and their originals alone have one scale, from minus to plus 1"
BAR_NOTE = "Red raises the explained answer, blue lowers it. Every column of bars has a scale of its own."
LINE_NOTE = " The line of every channel has a scale of its own, too."
_INFORMATIVE, _NOISE = (0, 114, 178), (213, 94, 0)
_NAMES = 72  # most width of the names beside bars of their own order
_LABELS, _NUMBERS = 260, 76  # most width of the labels and of the numbers beside bars


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


def bars(
    values: Array,
    height: int = STEP,
    width: int = SIDE,
    colours: Sequence[Colour] | None = None,
    largest: float | None = None,
) -> Image.Image:
    """A row of numbers as bars to either side of a middle line, longest for ``largest``, by default the largest
    absolute value. By default red above 0, blue below."""
    largest = scale_of(values, largest) or 1.0
    canvas = Image.new("RGB", (width, height * len(values)), "white")
    middle, half = width // 2, width // 2 - 4
    canvas.paste((190, 190, 190), (middle, 0, middle + 1, canvas.height))
    for index, value in enumerate(values):
        end = middle + round(float(value) / largest * half)
        colour = colours[index] if colours else (178, 24, 43) if value > 0 else (33, 102, 172)
        canvas.paste(colour, (min(middle, end), index * height + 2, max(middle, end) + 1, (index + 1) * height - 2))
    return canvas


def gallery_sheets(loaded: LoadedRun, folder: Path) -> Iterator[Path]:
    """Write one contact sheet per environment of the gallery: input, truth and attributions side by side."""
    controls = {label for label, method in by_label(loaded.run, "methods").items() if method.control}
    for index, samples in enumerate(gallery_samples(loaded), 1):
        path = folder / f"gallery-{index:02d}-{slug(samples.environment)}.png"
        draw_contact_sheet(samples, loaded.ranked_methods(samples.environment), controls).save(path, optimize=True)
        yield path


def draw_contact_sheet(samples: GallerySamples, methods: Sequence[str], controls: Collection[str] = ()) -> Image.Image:
    """A contact sheet: a row per sample, a column for the input, the truth and each method. Texts and series are wide:
    there, methods stand one below the other."""
    if samples.x is None or samples.maps is None:
        return contact_sheet.message_sheet(samples.environment, samples.reason)
    truth = {} if samples.truth is None else {"truth": samples.truth}
    columns = {**truth, **{method: samples.maps[method] for method in methods if method in samples.maps}}
    heads = [f"{name}\n(control)" if name in controls else name for name in columns]
    stacked = samples.is_text or samples.layout is not None
    return compose((_stack if stacked else _grid)(samples, columns, heads))


def _grid(samples: GallerySamples, columns: Mapping[str, Array | str], heads: list[str]) -> Sheet:
    """A row for each sample."""
    values, count = list(columns.values()), range(len(samples))
    names = [samples.title(at).replace(", ", "\n") for at in count] if samples.classes or samples.answers else []
    if samples.ranked:
        rows = [[_ranked_tile(panel) for panel in ranked_bars(samples, at, values)] for at in count]
        return Sheet(samples.environment, heads, rows, names, RANKED_NOTE)
    if samples.kind == "image":
        rows = [[(draw_input(samples, at), ""), *_map_tiles(samples, at, columns)] for at in count]
        return Sheet(samples.environment, ["input", *heads], rows, names, map_note(samples), coloured=True)
    rows = [list(_bar_row(samples, at, values)) for at in count]
    return Sheet(samples.environment, ["", *heads], rows, names, BAR_NOTE)


def _stack(samples: GallerySamples, columns: Mapping[str, Array | str], heads: list[str]) -> Sheet:
    """A row for each sample and, below it, one for each method; a text with one method needs no row of its own."""
    rows: list[tuple[str, Tile]] = []
    for at in range(len(samples)):
        title, tiles = samples.title(at).replace(", ", "\n"), list(_map_tiles(samples, at, columns))
        alone = samples.is_text and len(tiles) == 1
        rows += [] if alone else [(title, (draw_input(samples, at), ""))]
        rows += [
            (f"{title if alone else head}\n{text}", (image, "")) if image else (head, (None, text))
            for head, (image, text) in zip(heads, tiles, strict=True)
        ]
    names = [name for name, _ in rows]
    return Sheet(samples.environment, [""], [[tile] for _, tile in rows], names, map_note(samples), coloured=True)


def map_note(samples: GallerySamples) -> str:
    """What the colours mean."""
    note = f"{MAP_NOTE}{DAMAGE_NOTE if samples.one_scale else ''}."
    return note if samples.layout is None else f"{note}{LINE_NOTE}"


def draw_input(samples: GallerySamples, at: int) -> Image.Image:
    """A sample: an image, a text, or the lines of a series."""
    assert samples.x is not None
    if samples.is_text:
        return draw_words(coloured(samples.words[at], np.zeros(len(samples.words[at]))))
    if samples.layout is None:
        return enlarged(picture(samples.x[at], span(samples.x)))
    channels = samples.layout.lines(samples.x[at])
    drawn = _channels(samples, at)
    return series.lines(channels[drawn], [samples.name(channel) for channel in drawn], len(channels))


def draw_map(samples: GallerySamples, at: int, values: Array, largest: float | None = None) -> Image.Image:
    """An attribution of a sample, its colours from minus to plus ``largest``, by default its largest absolute value."""
    assert samples.x is not None
    if samples.is_text:
        return draw_words(coloured(samples.words[at], values, largest))
    if samples.layout is None:
        return enlarged(diverging(values, largest))
    rows, drawn = samples.layout.rows(values, samples.layout.lines(samples.x[at]).shape[1]), [0]
    if samples.layout.by != "steps":
        drawn = _channels(samples, at)
    return series.strip(rows[drawn], [samples.name(channel) for channel in drawn], scale_of(values, largest))


def _channels(samples: GallerySamples, at: int) -> list[int]:
    """Which channels of a series are drawn."""
    assert samples.x is not None
    assert samples.layout is not None
    channels, steps = samples.layout.lines(samples.x[at]).shape
    maps = [column[at] for column in (samples.maps or {}).values() if not isinstance(column, str)]
    weights = [samples.layout.rows(values, steps) for values in maps[:1] if samples.layout.by != "steps"]
    return series.largest(np.abs(weights[0]).sum(axis=1) if weights else np.zeros(channels))


def _map_tiles(samples: GallerySamples, at: int, columns: Mapping[str, Array | str]) -> Iterator[Tile]:
    for name, column in columns.items():
        if isinstance(column, str):
            yield None, column
        else:
            yield draw_map(samples, at, column[at], samples.scale(name)), caption(column[at])


def _bar_row(samples: GallerySamples, at: int, columns: Sequence[Array | str]) -> Iterator[Tile]:
    found = feature_bars(samples, at, columns)
    others = [f"and {found.hidden} more, their sum"] if found.hidden else []
    labels = [*found.labels, *others]
    yield (contact_sheet.label_column(labels, STEP, _LABELS) if labels else None), ""
    for column in found.columns:
        yield (None, column) if isinstance(column, str) else (_numbered_bars(column, bool(others)), "")


def _numbered_bars(column: BarColumn, with_others: bool) -> Image.Image:
    """Bars with their numbers beside them; the sum of the others is a number without a bar."""
    numbers = [*column.values, *([column.others] if with_others else [])]
    texts = contact_sheet.label_column([f"{number + 0.0:.3g}" for number in numbers], STEP, _NUMBERS)
    canvas = Image.new("RGB", (SIDE + _NUMBERS, texts.height), contact_sheet.PAPER)
    canvas.paste(bars(column.values, largest=column.largest), (0, 0))
    canvas.paste(texts, (canvas.width - texts.width, 0))
    return canvas


def _ranked_tile(panel: RankedBars | str) -> Tile:
    if isinstance(panel, str):
        return None, panel
    names = contact_sheet.label_column([bar.name for bar in panel.bars], STEP, _NAMES)
    colours = [_INFORMATIVE if bar.informative else _NOISE for bar in panel.bars]
    return _beside(names, bars(np.array([bar.value for bar in panel.bars]), colours=colours)), panel.caption


def _beside(left: Image.Image, right: Image.Image) -> Image.Image:
    canvas = Image.new("RGB", (left.width + right.width, right.height), contact_sheet.PAPER)
    canvas.paste(left, (0, 0))
    canvas.paste(right, (left.width, 0))
    return canvas
