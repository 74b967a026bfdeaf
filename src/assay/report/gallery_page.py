"""The gallery of the page: pictures in a folder for images, bars for everything else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from assay.engine.store.arrays import Array
from assay.report.components import Component, by_label
from assay.report.loaded_run import LoadedRun
from assay.report.pictures import BAR_NOTE, MAP_NOTE, caption, diverging, enlarged, picture, span
from assay.report.ranked_bars import NOTE as RANKED_NOTE
from assay.report.ranked_bars import RankedBars, ranked_bars
from assay.report.samples import FEATURES, GallerySamples, gallery_samples, largest_features

BAR_COLUMN = 100.0  # width of a column of bars


@dataclass(frozen=True)
class Picture:
    """One picture of a sample: an image file, or bars, or the reason why there is neither."""

    source: str = ""
    alt: str = ""
    caption: str = ""
    bars: tuple[tuple[float, float, bool, str], ...] = ()  # start and width in percent, positive?, value
    reason: str = ""


@dataclass(frozen=True)
class Sample:
    """One sample: a row of pictures, or a table of bars."""

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
    kind: str = ""
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
    heads: tuple[Component | str, ...] = ("input", *(["truth"] if samples.truth is not None else []), *methods)
    make_rows = _image_samples if samples.kind == "image" else _bar_samples
    rows = tuple(make_rows(samples, methods, folder, index))
    note = MAP_NOTE + _input_note(samples.x) if samples.kind == "image" else BAR_NOTE
    return GalleryPanel(samples.environment, note, heads, rows, samples.kind)


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


def _input_note(x: Array) -> str:
    low, high = span(x)
    usual = low == 0 and high in (1, 255)
    return "" if usual else f" Inputs are shown from black ({low:.3g}) to white ({high:.3g})."


def _image_samples(samples: GallerySamples, methods: list[Component], folder: Path, index: int) -> Iterator[Sample]:
    assert samples.x is not None
    ends = span(samples.x)
    for sample, x in enumerate(samples.x):
        title = samples.title(sample)
        stem = f"images/e{index}-s{sample}"
        pictures = [Picture(_save(picture(x, ends), folder, f"{stem}-input.png"), f"input, {title}")]
        for number, (name, column) in enumerate(_columns(samples, methods)):
            if isinstance(column, str):
                pictures.append(Picture(reason=column))
                continue
            scale = 1.0 if name in samples.one_scale else None
            source = _save(diverging(column[sample], scale), folder, f"{stem}-{number}.png")
            alt = "truth" if name == "truth" and not number else f"attribution by {name}"
            pictures.append(Picture(source, f"{alt}, {title}", caption(column[sample])))
        yield Sample(title, tuple(pictures))


def _save(image: Image.Image, folder: Path, name: str) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    enlarged(image).save(path, optimize=True)
    return name


def _bar_samples(samples: GallerySamples, methods: list[Component], folder: Path, index: int) -> Iterator[Sample]:
    assert samples.x is not None
    for sample in range(len(samples)):
        x = samples.x[sample].ravel()
        columns = [
            column if isinstance(column, str) else column[sample].ravel() for _, column in _columns(samples, methods)
        ]
        weights = next((column for column in columns if not isinstance(column, str)), x)
        features = largest_features(weights)
        first = _bars(x, features) if len(x) == len(weights) else Picture(reason="more than one number per feature")
        pictures = [
            first,
            *(Picture(reason=column) if isinstance(column, str) else _bars(column, features) for column in columns),
        ]
        names = tuple(samples.name(feature) for feature in features)
        yield Sample(samples.title(sample), tuple(pictures), names, len(weights) - len(features))


def _bars(values: Array, features: list[int]) -> Picture:
    largest = float(np.abs(values).max()) or 1.0
    half = BAR_COLUMN / 2
    bars = []
    for feature in features:
        value = float(values[feature])
        width = round(abs(value) / largest * half, 2)
        bars.append((half if value >= 0 else round(half - width, 2), width, value >= 0, f"{value:.3g}"))
    return Picture(caption=caption(values), bars=tuple(bars))
