"""Contact sheets: pictures in rows and columns with text around them, as one image."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, chain

from PIL import Image, ImageDraw, ImageFont

from assay.report.colours import ramp
from assay.report.text import shortened

Tile = tuple[Image.Image | None, str]  # a picture, or None, and the text below it
Font = ImageFont.FreeTypeFont | ImageFont.ImageFont
SYSTEM_FONTS = ("DejaVuSans.ttf", "NotoSans-Regular.ttf", "Arial.ttf", "Arial Unicode.ttf", "NotoSansCJK-Regular.ttc")
NO_LETTER = "\U0010ffff"  # no font has it: what is drawn in its place stands for all that a font lacks

INK, MUTED, PAPER, EMPTY, LINE = "#1d2127", "#5b6470", "#ffffff", "#eef0f3", "#c9ced6"
GAP, MARGIN = 14, 22
TITLE, HEAD, SMALL = 20, 17, 14  # font sizes
LEAST, SCALE = 420, 30  # width of a sheet, height of its scale of colours
EMPTY_TILE = (168, 40)  # size of a tile without a picture, where no other one is larger
SPACING = 5  # between lines of text
LONGEST = 120  # letters of a line
NAMES = 132  # most width of the names of rows


@dataclass(frozen=True)
class Sheet:
    """Pictures in rows and columns, with text around them."""

    title: str
    heads: Sequence[str]  # of the columns
    rows: Sequence[Sequence[Tile]]
    names: Sequence[str]  # of the rows; empty: they have none
    note: str
    coloured: bool = False  # the scale of colours is drawn below


def compose(sheet: Sheet) -> Image.Image:
    """The sheet as one image. Columns are as wide and rows as high as what is in them."""
    widths = [_column_width(row[column] for row in sheet.rows) for column in range(len(sheet.heads))]
    names = list(sheet.names) or [""] * len(sheet.rows)
    heights = [_row_height(row, widths, name) for row, name in zip(sheet.rows, names, strict=True)]
    steps = [height + GAP + (SMALL + 8) * _has_text(row) for row, height in zip(sheet.rows, heights, strict=True)]
    lefts = list(accumulate((width + GAP for width in widths), initial=MARGIN + _name_width(names)))
    width = max(LEAST, lefts[-1] - GAP + MARGIN)
    title, note = (_lines(text, width - 2 * MARGIN, size) for text, size in ((sheet.title, TITLE), (sheet.note, SMALL)))
    top = MARGIN + _high(title, TITLE) + 12 + _head_height(sheet.heads, widths)
    tops = list(accumulate(steps, initial=top))
    bottom = tops[-1] + 4 + (SCALE if sheet.coloured else 0)
    canvas = Image.new("RGB", (width, bottom + _high(note, SMALL) + MARGIN), PAPER)
    draw = ImageDraw.Draw(canvas)
    _write(draw, (MARGIN, MARGIN - 4), title, TITLE, INK)
    for head, left, wide in zip(sheet.heads, lefts, widths, strict=False):
        _write(draw, (left + wide / 2, top - 8), _lines(head, wide, HEAD), HEAD, INK, "md")
    for row, name, y, high in zip(sheet.rows, names, tops, heights, strict=False):
        _write(draw, (MARGIN, y + high / 2), _lines(name, NAMES, SMALL), SMALL, INK, "lm")
        for tile, head, left, wide in zip(row, sheet.heads, lefts, widths, strict=False):
            _paste_tile(canvas, tile, (left, y, wide, high), framed=bool(head))
    if sheet.coloured:
        _draw_scale(canvas, bottom - SCALE)
    _write(draw, (MARGIN, bottom), note, SMALL, MUTED)
    return canvas


def message_sheet(title: str, text: str) -> Image.Image:
    """A sheet without pictures that says why it has none."""
    canvas = Image.new("RGB", (760, 130), PAPER)
    draw = ImageDraw.Draw(canvas)
    _write(draw, (MARGIN, MARGIN), title, TITLE, INK)
    _write(draw, (MARGIN, MARGIN + 40), _lines(text, 716, SMALL), SMALL, MUTED)
    return canvas


def label_column(names: Sequence[str], step: int, most: int) -> Image.Image:
    """Names one below the other, right-aligned, as wide as the longest; of long names the middle is left out."""
    texts = [fitted(name, most - 8) for name in names]
    width = round(max(font(SMALL, text).getlength(text) for text in texts)) + 8
    canvas = Image.new("RGB", (width, step * len(names)), PAPER)
    draw = ImageDraw.Draw(canvas)
    for index, text in enumerate(texts):
        draw.text((width - 4, (index + 0.5) * step), text, fill=INK, font=font(SMALL, text), anchor="rm")
    return canvas


def fitted(text: str, width: float, size: int = SMALL) -> str:
    """The text on one line, without its middle where it is too long."""
    whole, typeface = shortened(" ".join(text.split()), LONGEST), font(size, text)
    shorter = (f"{whole[: (kept + 1) // 2]}…{whole[len(whole) - kept // 2 :]}" for kept in range(len(whole) - 1, 0, -1))
    return next((line for line in chain([whole], shorter) if typeface.getlength(line) <= width), "…")


def font(size: int, text: str = "") -> Font:
    """Pillow's own font, or for a text with letters that it lacks (it has those of English) one of the system's."""
    own, *others = _fonts(size)
    if text.isascii():
        return own
    return next((typeface for typeface in (own, *others) if _has(typeface, text)), own)


@cache
def _fonts(size: int) -> tuple[Font, ...]:
    found: list[Font] = [ImageFont.load_default(size)]
    for name in SYSTEM_FONTS:
        with suppress(OSError):
            found.append(ImageFont.truetype(name, size))
    return tuple(found)


def _has(typeface: Font, text: str) -> bool:
    missing = bytes(typeface.getmask(NO_LETTER))
    return all(letter.isspace() or bytes(typeface.getmask(letter)) != missing for letter in set(text))


def _column_width(tiles: Iterable[Tile]) -> int:
    return max((image.width for image, _ in tiles if image), default=EMPTY_TILE[0])


def _row_height(row: Sequence[Tile], widths: Sequence[int], name: str) -> int:
    """Of the highest picture, of the reason for none, and of the row's name."""
    pictures = [image.height for image, _ in row if image]
    reasons = [
        _high(_lines(text, width - 12, SMALL), SMALL) + 8
        for (image, text), width in zip(row, widths, strict=True)
        if not image
    ]
    return max(*(pictures or [EMPTY_TILE[1]]), *reasons, _high(_lines(name, NAMES, SMALL), SMALL) if name else 0)


def _has_text(row: Sequence[Tile]) -> bool:
    """Whether a picture of the row has a text below it."""
    return any(image and text for image, text in row)


def _name_width(names: Sequence[str]) -> int:
    widths = [font(SMALL, line).getlength(line) for name in names for line in name.split("\n")]
    return min(NAMES, round(max(widths, default=0))) + GAP if any(names) else 0


def _head_height(heads: Sequence[str], widths: Sequence[int]) -> int:
    highest = max(
        (_high(_lines(head, width, HEAD), HEAD) for head, width in zip(heads, widths, strict=True)), default=0
    )
    return highest + 8 if any(heads) else 0


def _paste_tile(canvas: Image.Image, tile: Tile, box: tuple[int, int, int, int], framed: bool) -> None:
    (x, y, width, height), (image, text), draw = box, tile, ImageDraw.Draw(canvas)
    if image is None:
        if text:
            draw.rectangle((x, y, x + width - 1, y + height - 1), fill=EMPTY)
            _write(draw, (x + width / 2, y + height / 2), _lines(text, width - 12, SMALL), SMALL, MUTED, "mm")
        return
    y += (height - image.height) // 2
    left = x + (width - image.width) // (2 if framed else 1)  # labels stand beside what they are about
    canvas.paste(image.convert("RGB"), (left, y))
    if framed:
        draw.rectangle((x - 1, y - 1, x + width, y + image.height), outline=LINE)
    _write(draw, (x + width / 2, y + image.height + 4), text, SMALL, MUTED, "ma")


def _draw_scale(canvas: Image.Image, top: int) -> None:
    """The colours from minus to plus the largest value."""
    draw, bar, before = ImageDraw.Draw(canvas), ramp(161, 12), "- largest"
    left = MARGIN + round(font(SMALL).getlength(before)) + 6
    _write(draw, (MARGIN, top + 6), before, SMALL, MUTED, "lm")
    canvas.paste(bar, (left, top))
    draw.rectangle((left - 1, top - 1, left + bar.width, top + bar.height), outline=LINE)
    _write(draw, (left + bar.width + 6, top + 6), "+ largest, white is 0", SMALL, MUTED, "lm")


def _write(
    draw: ImageDraw.ImageDraw, at: tuple[float, float], text: str, size: int, fill: str, anchor: str = "la"
) -> None:
    align = "center" if anchor[0] == "m" else "left"
    draw.multiline_text(at, text, fill=fill, font=font(size, text), anchor=anchor, align=align, spacing=SPACING)


def _high(text: str, size: int) -> int:
    """How high a text of several lines is."""
    return (text.count("\n") + 1) * (size + SPACING)


def _lines(text: str, width: int, size: int) -> str:
    """The text in lines that fit."""
    return "\n".join(line for part in text.split("\n") for line in _wrapped(part, width, size))


def _wrapped(text: str, width: int, size: int) -> list[str]:
    """The text in lines that fit; a word breaks after a mark such as ``_`` or ``(``, or anywhere if it must."""
    typeface, lines = font(size, text), [""]
    for piece in re.findall(r"[^\s_(=,]*[_(=,]*\s*", text):
        if typeface.getlength((lines[-1] + piece).rstrip()) <= width:
            lines[-1] += piece
            continue
        lines += [""] if lines[-1] else []
        for letter in piece:
            if typeface.getlength((lines[-1] + letter).rstrip()) > width:
                lines.append("")
            lines[-1] += letter
    return [line.rstrip() for line in lines]
