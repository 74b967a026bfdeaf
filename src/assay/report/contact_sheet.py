"""Contact sheets: pictures in rows and columns with text around them, as one image."""

from __future__ import annotations

import re
from collections.abc import Sequence

from PIL import Image, ImageDraw, ImageFont

Tile = tuple[Image.Image | None, str]  # a picture, or None, and the text below it

INK, MUTED, PAPER, EMPTY = "#1d2127", "#5b6470", "#ffffff", "#eef0f3"
GAP, MARGIN = 14, 22
TITLE, HEAD, SMALL = 24, 17, 14  # font sizes


def compose(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[Tile]], names: Sequence[str], note: str
) -> Image.Image:
    """A sheet with a heading per column and a row per sample; ``names`` say which samples these are, or are empty."""
    width = max(image.width for row in rows for image, _ in row if image)
    height = max(image.height for row in rows for image, _ in row if image)
    left = MARGIN + (96 if names else 0)
    top = MARGIN + TITLE + 16 + _head_height(heads, width)
    step = height + SMALL + 2 * GAP
    size = (left + len(heads) * (width + GAP) - GAP + MARGIN, top + len(rows) * step + SMALL + MARGIN)
    lines = _wrapped(note, size[0] - 2 * MARGIN, SMALL)
    canvas = Image.new("RGB", (size[0], size[1] + (len(lines) - 1) * (SMALL + 5)), PAPER)
    draw = ImageDraw.Draw(canvas)
    draw.text((MARGIN, MARGIN - 4), title, fill=INK, font=font(TITLE))
    for column, head in enumerate(heads):
        _draw_centred(
            draw, _folded(head, width, HEAD), left + column * (width + GAP) + width / 2, top - 8, INK, HEAD, "bottom"
        )
    for index, row in enumerate(rows):
        if names:
            _draw_name(draw, names[index], top + index * step + height / 2)
        for column, tile in enumerate(row):
            _paste_tile(canvas, draw, tile, (left + column * (width + GAP), top + index * step, width, height))
    draw.multiline_text((MARGIN, top + len(rows) * step - 4), "\n".join(lines), fill=MUTED, font=font(SMALL), spacing=5)
    return canvas


def message_sheet(title: str, text: str) -> Image.Image:
    """A sheet without pictures that says why it has none."""
    canvas = Image.new("RGB", (760, 130), PAPER)
    draw = ImageDraw.Draw(canvas)
    draw.text((MARGIN, MARGIN), title, fill=INK, font=font(TITLE))
    draw.multiline_text((MARGIN, MARGIN + 40), "\n".join(_wrapped(text, 716, SMALL)), fill=MUTED, font=font(SMALL))
    return canvas


def label_column(names: Sequence[str], step: int, width: int) -> Image.Image:
    """Names one below the other, right-aligned; names that are too long are cut."""
    canvas = Image.new("RGB", (width, step * len(names)), PAPER)
    draw = ImageDraw.Draw(canvas)
    for index, name in enumerate(names):
        text = _wrapped(name, width - 8, SMALL)[0]
        draw.text((width - 4, (index + 0.5) * step), text, fill=INK, font=font(SMALL), anchor="rm")
    return canvas


def font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def _draw_name(draw: ImageDraw.ImageDraw, name: str, middle: float) -> None:
    draw.multiline_text((MARGIN, middle), _folded(name, 92, SMALL), fill=INK, font=font(SMALL), anchor="lm", spacing=4)


def _paste_tile(canvas: Image.Image, draw: ImageDraw.ImageDraw, tile: Tile, box: tuple[int, int, int, int]) -> None:
    x, y, width, height = box
    image, text = tile
    if image is None:
        draw.rectangle((x, y, x + width - 1, y + height - 1), fill=EMPTY)
        _draw_centred(
            draw, "\n".join(_wrapped(text, width - 12, SMALL)), x + width / 2, y + height / 2, MUTED, SMALL, "middle"
        )
        return
    canvas.paste(image.convert("RGB"), (x + (width - image.width) // 2, y))
    draw.rectangle((x - 1, y - 1, x + width, y + height), outline="#c9ced6")
    _draw_centred(draw, text, x + width / 2, y + height + 4, MUTED, SMALL, "top")


def _draw_centred(draw: ImageDraw.ImageDraw, text: str, x: float, y: float, fill: str, size: int, side: str) -> None:
    anchor = {"top": "ma", "middle": "mm", "bottom": "md"}[side]
    draw.multiline_text((x, y), text, fill=fill, font=font(size), anchor=anchor, align="center", spacing=4)


def _head_height(heads: Sequence[str], width: int) -> int:
    return max(_folded(head, width, HEAD).count("\n") + 1 for head in heads) * (HEAD + 5) + 8


def _folded(text: str, width: int, size: int) -> str:
    return "\n".join(line for part in text.split("\n") for line in _wrapped(part, width, size))


def _wrapped(text: str, width: int, size: int) -> list[str]:
    """The text in lines that fit; a word breaks after a mark such as ``_`` or ``(``, or anywhere if it must."""
    typeface, lines = font(size), [""]
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
