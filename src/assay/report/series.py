"""Series as pictures: the line of every channel over time, and attributions as strips of colours below the lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from assay.engine.store.arrays import Array
from assay.report.colours import diverging
from assay.report.contact_sheet import INK, MUTED, PAPER, fitted, font

WIDTH, GUTTER = 560, 96  # of a plot, and of the names left of it
LANE, STRIP, AXIS = 48, 18, 16  # heights: of a channel's line, of a row of colours, of the steps below the lines
GAP = 4
LETTERS, SMALL = 13, 10  # font sizes
FINE = 3  # lines are drawn larger and made smaller, so that they are smooth
CHANNELS = 8  # most that are drawn


@dataclass(frozen=True)
class Layout:
    """How the entries and the features of a series are ordered."""

    channels_first: bool  # entries are (channels, steps), else (steps, channels)
    by: str  # what a feature is: steps, channels, or both

    @classmethod
    def of(cls, facts: Any) -> Layout | None:
        """From the facts that are stored with samples; None for other data."""
        return cls(bool(facts["channels_first"]), str(facts["by"])) if facts else None

    def lines(self, entries: Array) -> Array:
        """(channels, steps)."""
        return entries if self.channels_first else entries.T

    def rows(self, values: Array, steps: int) -> Array:
        """A number per feature as rows over time: one row, or one per channel."""
        if self.by == "both":
            return self.lines(values)
        return values[None] if self.by == "steps" else values[:, None].repeat(steps, axis=1)

    def pooled(self, entries: Array) -> Array:
        """Entries (N, ., .) summed per feature."""
        if self.by == "both":
            return entries
        summed: Array = entries.sum(axis=1 if self.channels_first == (self.by == "steps") else 2)
        return summed


def largest(weights: Array) -> list[int]:
    """The channels that are drawn, in their order: those of the largest weights."""
    return sorted(int(channel) for channel in np.argsort(-weights, kind="stable")[:CHANNELS])


def lines(x: Array, names: Sequence[str], channels: int) -> Image.Image:
    """Some of the ``channels`` (C, steps), each with a scale of its own: its ends are written beside it."""
    canvas = Image.new("RGB", (GUTTER + WIDTH, len(x) * (LANE + GAP) + AXIS), PAPER)
    draw = ImageDraw.Draw(canvas)
    for index, (values, name) in enumerate(zip(x, names, strict=True)):
        top = index * (LANE + GAP)
        canvas.paste(_line(values), (GUTTER, top))
        draw.rectangle((GUTTER, top, GUTTER + WIDTH - 1, top + LANE - 1), outline="#dfe3e8")
        _write(draw, name, top + LANE / 2, LETTERS)
        if np.ptp(values) > 0:
            _write(draw, f"{values.max():.3g}", top + 6, SMALL)
            _write(draw, f"{values.min():.3g}", top + LANE - 6, SMALL)
        else:
            _write(draw, f"{values[0]:.3g} everywhere", top + LANE - 6, SMALL)
    _write_axis(draw, canvas.height - AXIS / 2, x.shape[1], f"{len(x)} of {channels} channels" * (len(x) < channels))
    return canvas


def strip(values: Array, names: Sequence[str], end: float) -> Image.Image:
    """Rows (R, steps) of colours from minus to plus ``end``, as wide as the lines; several rows have names."""
    colours = diverging(_squeezed(values), end).convert("RGB")
    canvas = Image.new("RGB", (GUTTER + WIDTH, len(values) * STRIP), PAPER)
    canvas.paste(colours.resize((WIDTH, canvas.height), Image.Resampling.NEAREST), (GUTTER, 0))
    draw = ImageDraw.Draw(canvas)
    if len(values) > 1:
        for index, name in enumerate(names):
            _write(draw, name, (index + 0.5) * STRIP, LETTERS)
    draw.rectangle((GUTTER, 0, GUTTER + WIDTH - 1, canvas.height - 1), outline="#c9ced6")
    return canvas


def _line(values: Array) -> Image.Image:
    """One channel; where its values are equal, in the middle."""
    width, height, margin = FINE * WIDTH, FINE * LANE, 4 * FINE
    picture = Image.new("RGB", (width, height), PAPER)
    low, span = float(values.min()), float(np.ptp(values))
    unit = (values.astype(np.float64) - low) / span if span > 0 else np.full(len(values), 0.5)
    across = (np.arange(len(values)) + 0.5) * width / len(values)  # the middle of a step, as in the strip
    down = height - margin - unit * (height - 2 * margin)
    points = [(float(x), float(y)) for x, y in zip(across, down, strict=True)]
    draw = ImageDraw.Draw(picture)
    if len(points) > 1:
        draw.line(points, fill=INK, width=FINE + 1, joint="curve")
    else:
        draw.line([(0, points[0][1]), (width, points[0][1])], fill=INK, width=FINE + 1)
    return picture.resize((WIDTH, LANE), Image.Resampling.LANCZOS)


def _squeezed(values: Array) -> Array:
    """At most as many columns as pixels: of several steps on one pixel, the largest absolute value is kept."""
    steps = values.shape[1]
    if steps <= WIDTH:
        return values
    ends = np.linspace(0, steps, WIDTH + 1).round().astype(int)
    parts = [values[:, start:stop] for start, stop in pairwise(ends)]
    largest = [np.take_along_axis(part, np.abs(part).argmax(axis=1)[:, None], axis=1) for part in parts]
    return np.concatenate(largest, axis=1)


def _write(draw: ImageDraw.ImageDraw, text: str, middle: float, size: int) -> None:
    text = fitted(text, GUTTER - 10, size)
    fill = INK if size == LETTERS else MUTED
    draw.text((GUTTER - 6, middle), text, fill=fill, font=font(size, text), anchor="rm")


def _write_axis(draw: ImageDraw.ImageDraw, middle: float, steps: int, note: str) -> None:
    style: dict[str, Any] = {"fill": MUTED, "font": font(SMALL + 1)}
    draw.text((GUTTER, middle), "step 0", anchor="lm", **style)
    draw.text((GUTTER + WIDTH / 2, middle), note, anchor="mm", **style)
    if steps > 1:
        draw.text((GUTTER + WIDTH, middle), str(steps - 1), anchor="rm", **style)
