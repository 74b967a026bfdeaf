"""Coloured words: a text whose words have the colours of their attributions, as a picture and as HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from PIL import Image, ImageDraw

from assay.engine.store.arrays import Array
from assay.report.colours import PALETTE, Colour, colour, css, letters_on, scale_of
from assay.report.contact_sheet import PAPER, fitted, font
from assay.report.samples import GallerySamples

MOST = 400  # words
STOPS = np.linspace(0, len(PALETTE) - 1, 11).round().astype(int)  # of the scale, white in the middle
ROUNDING = 1e-5  # of the largest value: what numbers that should be 0 may have instead
WIDTH = 560  # of a text in a picture
SIZE, LINE, PAD, GAP = 16, 27, 4, 3  # of the letters, of a line, around a word, between words


@dataclass(frozen=True)
class Word:
    """A word and its number."""

    text: str
    value: float
    background: Colour

    @property
    def ink(self) -> Colour:
        return letters_on(self.background)


def coloured(words: Sequence[str], values: Array, largest: float | None = None) -> tuple[Word, ...]:
    """The first words in the colours of their values. One more stands for the sum of the others, if there are any: of
    a long text, and of positions that are beyond its end and have values."""
    scale, shown = scale_of(values, largest), min(len(words), len(values), MOST)
    found = [
        Word(text, float(value), colour(float(value), scale))
        for text, value in zip(words[:shown], values, strict=False)
    ]
    others = values[shown:]
    if scale_of(others) > ROUNDING * scale or shown < min(len(words), len(values)):
        total = float(others.sum())
        found.append(Word(f"… and {len(others)} more, sum {total:.3g}", total, colour(total, scale)))
    return tuple(found)


def draw_words(words: Sequence[Word], width: int = WIDTH) -> Image.Image:
    """The text in lines."""
    texts = [fitted(word.text, width - 2 * PAD - 2, SIZE) for word in words]
    boxes = list(_placed([font(SIZE, text).getlength(text) + 2 * PAD for text in texts], width))
    canvas = Image.new("RGB", (width, (boxes[-1][1] if boxes else 0) + LINE), PAPER)
    draw = ImageDraw.Draw(canvas)
    for word, text, (x, y, right) in zip(words, texts, boxes, strict=True):
        draw.rounded_rectangle((x, y + 2, right, y + LINE - 3), radius=3, fill=word.background)
        draw.text((x + PAD, y + LINE / 2), text, fill=word.ink, font=font(SIZE, text), anchor="lm")
    return canvas


def _placed(widths: Sequence[float], width: int) -> Iterator[tuple[float, int, float]]:
    """Left, top and right of every word."""
    x, y = 0.0, 0
    for needed in widths:
        if x and x + needed > width - 1:
            x, y = 0.0, y + LINE
        yield x, y, x + needed
        x += needed + GAP


def words_html(words: Sequence[Word]) -> str:
    """The text with a background for every word; its number is shown where the mouse points. All text is escaped."""
    spans = (
        f'<span title="{word.value:.3g}" style="background:{css(word.background)};color:{css(word.ink)};'
        f'padding:1px 3px;border-radius:3px">{escape(word.text)}</span>'
        for word in words
    )
    return f'<p style="background:#ffffff;padding:4px;line-height:1.8">{" ".join(spans)}</p>'


def scale_html(largest: float) -> str:
    """The scale of the colours of a text."""
    if largest == 0:
        return "<small>0 everywhere</small>"
    stops = ",".join(css((red, green, blue)) for red, green, blue in PALETTE[STOPS].tolist())
    ramp = f"display:inline-block;width:120px;height:10px;background:linear-gradient(to right,{stops})"
    return f'<small>−{largest:.3g} <span style="{ramp}"></span> +{largest:.3g}, white is 0</small>'


def texts_html(samples: GallerySamples) -> str:
    """The texts of some samples in the colours of their truth, if it is known, and of each method."""
    truth = {} if samples.truth is None else {"truth": samples.truth}
    columns = {
        name: column for name, column in {**truth, **(samples.maps or {})}.items() if not isinstance(column, str)
    }
    parts = [f"<p><b>{escape(samples.environment)}</b></p>"]
    for at, words in enumerate(samples.words):
        parts.append(f"<p>{escape(samples.title(at))}</p>")
        for name, column in columns.items():
            named = f"{escape(name)} " if len(columns) > 1 else ""
            parts.append(f"<p>{named}{scale_html(scale_of(column[at]))}</p>")
            parts.append(words_html(coloured(words, column[at])))
    return "\n".join([*parts, "<p><small>Red raises the explained answer, blue lowers it.</small></p>"])
