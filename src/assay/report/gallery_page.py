"""The gallery of the page: pictures of images and series in a folder, coloured words, bars for everything else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup
from PIL import Image

from assay.engine.store.arrays import Array
from assay.report.colours import caption
from assay.report.components import Component, by_label
from assay.report.feature_bars import BarColumn, feature_bars
from assay.report.loaded_run import LoadedRun
from assay.report.pictures import BAR_NOTE, draw_input, draw_map, map_note, span
from assay.report.ranked_bars import NOTE as RANKED_NOTE
from assay.report.ranked_bars import RankedBars, ranked_bars
from assay.report.samples import FEATURES, GallerySamples, gallery_samples
from assay.report.words import coloured, words_html

BAR_COLUMN = 100.0  # width of a column of bars


@dataclass(frozen=True)
class Picture:
    """One picture of a sample: an image file, a text, or bars, or the reason why there is none."""

    source: str = ""
    alt: str = ""
    caption: str = ""
    bars: tuple[tuple[float, float, bool, str], ...] = ()  # start and width in percent, positive?, value
    others: str = ""  # the sum of the features without bars
    text: Markup = Markup("")  # coloured words
    reason: str = ""


@dataclass(frozen=True)
class Sample:
    """One sample: its pictures, or a table of bars."""

    title: str
    pictures: tuple[Picture, ...]
    features: tuple[str, ...] = ()  # names of the features, one per row of bars
    hidden: int = 0  # features left out
    ranked: tuple[RankedBars | str, ...] = ()  # truth and methods, each with its own order of features
    wrong: bool = False  # the model takes it for another class


@dataclass(frozen=True)
class GalleryPanel:
    """One environment: a row per sample, a column for the input, the truth and each method."""

    environment: str
    note: str
    heads: tuple[Component | str, ...]
    samples: tuple[Sample, ...]
    kind: str = ""  # image, ranked, stacked (one below the other), bars
    reason: str = ""


def gallery_panels(loaded: LoadedRun, folder: Path) -> tuple[GalleryPanel, ...]:
    """Writes the pictures into ``folder``/images."""
    methods = by_label(loaded.run, "methods")
    return tuple(
        _panel(samples, [methods[name] for name in loaded.ranked_methods(samples.environment)], folder, index)
        for index, samples in enumerate(gallery_samples(loaded))
    )


def _panel(samples: GallerySamples, methods: list[Component], folder: Path, index: int) -> GalleryPanel:
    if samples.x is None or samples.maps is None:
        return GalleryPanel(samples.environment, "", (), (), reason=samples.reason)
    methods = [method for method in methods if method.label in samples.maps]
    if samples.ranked:
        rows = tuple(_ranked_samples(samples, methods))
        return GalleryPanel(samples.environment, RANKED_NOTE, ("truth", *methods), rows, "ranked")
    heads: tuple[Component | str, ...] = (*(["truth"] if samples.truth is not None else []), *methods)
    if samples.is_text:
        return GalleryPanel(samples.environment, map_note(samples), heads, tuple(_texts(samples, methods)), "stacked")
    if samples.kind == "image" or samples.layout is not None:
        kind, rows = "image" if samples.layout is None else "stacked", tuple(_drawn(samples, methods, folder, index))
        return GalleryPanel(samples.environment, _note(samples), ("input", *heads), rows, kind)
    return GalleryPanel(samples.environment, BAR_NOTE, heads, tuple(_bar_samples(samples, methods)), "bars")


def _ranked_samples(samples: GallerySamples, methods: list[Component]) -> Iterator[Sample]:
    assert samples.truth is not None
    columns = [column for _, column in _columns(samples, methods)]
    for position in range(len(samples)):
        panels = tuple(ranked_bars(samples, position, columns))
        hidden = max(0, samples.truth[position].size - FEATURES)
        wrong = any(samples.mistakes[position : position + 1])
        yield Sample(samples.title(position), (), hidden=hidden, ranked=panels, wrong=wrong)


def _columns(samples: GallerySamples, methods: list[Component]) -> Iterator[tuple[str, Array | str]]:
    """Names and values of the truth and of each method's attribution, or the reason why it is missing."""
    if samples.truth is not None:
        yield "truth", samples.truth
    assert samples.maps is not None
    for method in methods:
        yield method.label, samples.maps[method.label]


def _note(samples: GallerySamples) -> str:
    low, high = (0, 1) if samples.x is None or samples.layout is not None else span(samples.x)
    usual = low == 0 and high in (1, 255)
    scale = "" if usual else f" Inputs are shown from black ({low:.3g}) to white ({high:.3g})."
    return f"{map_note(samples)}{scale}"


def _drawn(samples: GallerySamples, methods: list[Component], folder: Path, index: int) -> Iterator[Sample]:
    """Images and series."""
    for at in range(len(samples)):
        title, stem = samples.title(at), f"images/e{index}-s{at}"
        pictures = [Picture(_save(draw_input(samples, at), folder, f"{stem}-input.png"), f"input, {title}")]
        for number, (name, column) in enumerate(_columns(samples, methods)):
            if isinstance(column, str):
                pictures.append(Picture(reason=column))
                continue
            source = _save(draw_map(samples, at, column[at], samples.scale(name)), folder, f"{stem}-{number}.png")
            alt = "truth" if name == "truth" and not number else f"attribution by {name}"
            pictures.append(Picture(source, f"{alt}, {title}", caption(column[at])))
        yield Sample(title, tuple(pictures), wrong=any(samples.mistakes[at : at + 1]))


def _save(image: Image.Image, folder: Path, name: str) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path, optimize=True)
    return name


def _texts(samples: GallerySamples, methods: list[Component]) -> Iterator[Sample]:
    for at, words in enumerate(samples.words):
        pictures = [
            Picture(reason=column) if isinstance(column, str) else _text(words, column[at], samples.scale(name))
            for name, column in _columns(samples, methods)
        ]
        yield Sample(samples.title(at), tuple(pictures), wrong=any(samples.mistakes[at : at + 1]))


def _text(words: Sequence[str], values: Array, largest: float | None) -> Picture:
    return Picture(text=Markup(words_html(coloured(words, values, largest))), caption=caption(values))


def _bar_samples(samples: GallerySamples, methods: list[Component]) -> Iterator[Sample]:
    columns = [column for _, column in _columns(samples, methods)]
    for at in range(len(samples)):
        found = feature_bars(samples, at, columns)
        pictures = [Picture(reason=column) if isinstance(column, str) else _bars(column) for column in found.columns]
        yield Sample(samples.title(at), tuple(pictures), found.labels, found.hidden)


def _bars(column: BarColumn) -> Picture:
    largest, half = column.largest or 1.0, BAR_COLUMN / 2
    bars = []
    for value in map(float, column.values):
        width = round(abs(value) / largest * half, 2)
        bars.append((half if value >= 0 else round(half - width, 2), width, value >= 0, f"{value:.3g}"))
    scale = f"± {column.largest:.3g}" if column.largest else "0 everywhere"
    return Picture(caption=scale, bars=tuple(bars), others=f"{column.others + 0.0:.3g}")
