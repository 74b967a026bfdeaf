"""The gallery of the page: pictures in a folder for images, bars for everything else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from assay.report.components import Component, by_label
from assay.report.gallery import BAR_NOTE, MAP_NOTE, caption, diverging, enlarged, picture, span
from assay.report.reading import Reading
from assay.report.shown import Shown, salient, shown
from assay.store.artifacts import Array

BARS = 100.0  # width of a column of bars


@dataclass(frozen=True)
class Picture:
    """One cell: an image file, or bars, or why there is neither."""

    source: str = ""
    alt: str = ""
    caption: str = ""
    bars: tuple[tuple[float, float, bool, str], ...] = ()  # start and width in percent, positive?, value
    reason: str = ""


@dataclass(frozen=True)
class Sample:
    title: str
    pictures: tuple[Picture, ...]
    features: tuple[str, ...] = ()  # names of the rows of bars
    hidden: int = 0  # features left out


@dataclass(frozen=True)
class Exhibit:
    """One environment: a row per sample, a column for the input, the truth and each method."""

    environment: str
    note: str
    heads: tuple[Component | str, ...]
    samples: tuple[Sample, ...]
    kind: str = ""
    reason: str = ""


def exhibits(reading: Reading, folder: Path) -> tuple[Exhibit, ...]:
    """Writes the pictures into ``folder``/images."""
    methods = by_label(reading.run, "methods")
    return tuple(
        _exhibit(found, [methods[name] for name in reading.ranked(found.environment)], folder, index)
        for index, found in enumerate(shown(reading))
    )


def _exhibit(found: Shown, methods: list[Component], folder: Path, index: int) -> Exhibit:
    if found.x is None or found.maps is None:
        return Exhibit(found.environment, "", (), (), reason=found.reason)
    methods = [method for method in methods if method.label in found.maps]
    heads: tuple[Component | str, ...] = ("input", *(["truth"] if found.truth is not None else []), *methods)
    hang = _hang_images if found.kind == "image" else _hang_bars
    samples = tuple(hang(found, methods, folder, index))
    note = MAP_NOTE + _input_note(found.x) if found.kind == "image" else BAR_NOTE
    return Exhibit(found.environment, note, heads, samples, found.kind)


def _title(found: Shown, sample: int) -> str:
    return f"sample {sample}" + (f", {found.classes[sample]}" if found.classes else "")


def _columns(found: Shown, methods: list[Component]) -> Iterator[tuple[str, Array | str]]:
    """Truth and attributions by name."""
    if found.truth is not None:
        yield "truth", found.truth
    assert found.maps is not None
    for method in methods:
        yield method.label, found.maps[method.label]


def _input_note(x: Array) -> str:
    low, high = span(x)
    usual = low == 0 and high in (1, 255)
    return "" if usual else f" Inputs are shown from black ({low:.3g}) to white ({high:.3g})."


def _hang_images(found: Shown, methods: list[Component], folder: Path, index: int) -> Iterator[Sample]:
    assert found.x is not None
    ends = span(found.x)
    for sample, x in enumerate(found.x):
        title = _title(found, sample)
        stem = f"images/e{index}-s{sample}"
        pictures = [Picture(_save(picture(x, ends), folder, f"{stem}-input.png"), f"input, {title}")]
        for number, (name, column) in enumerate(_columns(found, methods)):
            if isinstance(column, str):
                pictures.append(Picture(reason=column))
                continue
            source = _save(diverging(column[sample]), folder, f"{stem}-{number}.png")
            alt = "truth" if name == "truth" and not number else f"attribution by {name}"
            pictures.append(Picture(source, f"{alt}, {title}", caption(column[sample])))
        yield Sample(title, tuple(pictures))


def _save(image: Image.Image, folder: Path, name: str) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    enlarged(image).save(path, optimize=True)
    return name


def _hang_bars(found: Shown, methods: list[Component], folder: Path, index: int) -> Iterator[Sample]:
    assert found.x is not None
    for sample in range(len(found)):
        x = found.x[sample].ravel()
        columns = [c if isinstance(c, str) else c[sample].ravel() for _, c in _columns(found, methods)]
        weighed = next((column for column in columns if not isinstance(column, str)), x)
        kept = salient(weighed)
        first = _bars(x, kept) if len(x) == len(weighed) else Picture(reason="more than one number per feature")
        pictures = [first, *(Picture(reason=c) if isinstance(c, str) else _bars(c, kept) for c in columns)]
        names = tuple(found.name(index) for index in kept)
        yield Sample(_title(found, sample), tuple(pictures), names, len(weighed) - len(kept))


def _bars(values: Array, kept: list[int]) -> Picture:
    largest = float(np.abs(values).max()) or 1.0
    half = BARS / 2
    bars = []
    for index in kept:
        value = float(values[index])
        width = round(abs(value) / largest * half, 2)
        bars.append((half if value >= 0 else round(half - width, 2), width, value >= 0, f"{value:.3g}"))
    return Picture(caption=caption(values), bars=tuple(bars))
