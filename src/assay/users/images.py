"""Reads images: arrays of colours, Pillow's images and files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import torch
from PIL import Image
from torch import Tensor

from assay.core.errors import SpecError
from assay.core.features import Pixels
from assay.foreign.inputs import checked_rows, dtype_name
from assay.users.image_files import ImageFiles
from assay.users.numbers import conversion, floats
from assay.users.phrases import counted
from assay.users.pictures import DEVIATION, MEAN, RESIZE, SIDE, Preparation
from assay.users.reading import Reading
from assay.users.rows import Rows

COLOURS = (1, 3, 4)  # channels: grey, RGB, RGB with transparency
BRIGHT = 32  # colours in 0..1 or standardised ones are below
GREY = {"1", "L", "LA"}  # modes of Pillow
DEEP = ("I", "F")  # modes of more than 8 bits begin so


@dataclass(frozen=True)
class Photos(Sequence[Image.Image]):
    """Images in a folder, which are read when they are needed."""

    files: ImageFiles
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, place: int) -> Image.Image: ...
    @overload
    def __getitem__(self, place: slice) -> Photos: ...
    def __getitem__(self, place: Any) -> Any:
        return Photos(self.files, self.names[place]) if isinstance(place, slice) else self.files.read(self.names[place])

    def headers(self) -> Iterator[tuple[tuple[int, int], str]]:
        """Sizes and modes."""
        return map(self.files.header, self.names)


def read_pictures(images: Sequence[Image.Image], reference: Sequence[Image.Image] | None, reading: Reading) -> Rows:
    """Rows of Pillow's images or of files. Images of one size keep it, others become what most networks read."""
    parts = [("x", images)] if reference is None else [("x", images), ("reference", reference)]
    headers = [header for name, part in parts for header in _headers(name, part)]
    sizes = {size for size, _ in headers}
    prepared = _preparation(sizes, all(mode in GREY for _, mode in headers), reading)
    dtype = reading.format
    rows, *extra = [
        prepared.standardised(torch.stack([prepared.cut_out(image) for image in part])).to(dtype) for _, part in parts
    ]
    return Rows(
        rows,
        Pixels(*rows.shape[1:]),
        "image",
        given=_channels_last if reading.channels_last else None,
        reference=extra[0] if extra else None,
        notes=(_told(prepared, sizes, reading),),
        picture=prepared.picture,
    )


def read_image_array(x: Tensor, reference: Tensor | None, dtype: torch.dtype, reading: Reading) -> Rows:
    """Rows of an array (N, channels, height, width) or (N, height, width, channels)."""
    first = _channels_come_first(x.shape[1:], reading)
    parts = [part if first or part.dim() != 4 else part.movedim(-1, 1) for part in (x, reference) if part is not None]
    prepared = _array_preparation(parts, reading)
    rows = _floats("x", parts[0], dtype, prepared)
    moved = f"x has shape {tuple(x.shape)}: its channels are moved to the front, {tuple(rows.shape)}."
    told = (_scaled(prepared, dtype_name(x.dtype)),) if prepared else conversion("x", x, dtype)
    return Rows(
        rows,
        Pixels(*rows.shape[1:]),
        "image",
        given=_channels_last if reading.channels_last else None,
        reference=checked_rows("reference", _floats("reference", parts[1], dtype, prepared), rows)
        if parts[1:]
        else None,
        notes=told if first else (moved, *told),
        picture=prepared.picture if prepared and rows.shape[1] in (1, 3) else None,
    )


def _channels_last(entries: Tensor) -> Tensor:
    return entries.movedim(1, -1)


def _headers(name: str, images: Sequence[Image.Image]) -> list[tuple[tuple[int, int], str]]:
    found = list(images.headers() if isinstance(images, Photos) else ((image.size, image.mode) for image in images))
    if not found:
        raise SpecError(f"{name} has no images.")
    deep = [place for place, (_, mode) in enumerate(found) if mode.startswith(DEEP)]
    if deep:
        raise SpecError(
            f"{name}: image {deep[0]} (counted from 0) has more than 8 bits a colour (mode {found[deep[0]][1]}): give "
            "such images as an array of floats, as the model reads them."
        )
    return found


def _preparation(sizes: set[tuple[int, int]], grey: bool, reading: Reading) -> Preparation:
    side = reading.side if reading.side is not None else reading.resize
    resize = reading.resize if reading.resize is not None else side
    if resize is None and len(sizes) > 1:
        resize, side = RESIZE, SIDE
    colours: tuple[tuple[float, ...], tuple[float, ...]] = ((0.0,), (1.0,)) if grey else (MEAN, DEVIATION)
    if reading.scale == "as is" and reading.mean is not None:
        raise SpecError(
            "mean and deviation standardise colours in 0..1, and scale='as is' keeps 0..255: give one of both."
        )
    if reading.scale == "as is":
        colours = (0.0,) * len(colours[0]), (1 / 255,) * len(colours[0])
    if reading.mean is not None and reading.deviation is not None:
        colours = reading.mean, reading.deviation
    return Preparation(resize, side, *colours)


def _told(prepared: Preparation, sizes: set[tuple[int, int]], reading: Reading) -> str:
    square = f"{prepared.side} x {prepared.side}"
    size = f"are resized to {prepared.resize} pixels (the shorter side) and cropped to {square}"
    if prepared.resize is None:
        size = "keep their size, {} x {} pixels".format(*next(iter(sizes)))
    grey = "as grey ones " if len(prepared.mean) == 1 else ""
    top = "255" if reading.scale == "as is" else f"1{_standardised(prepared)}"
    chosen = reading.mean is None or (reading.resize is None and reading.side is None)
    advice = " Say what the model reads with resize, side, mean and deviation." if chosen else ""
    return f"Images {size}, {grey}with colours in 0..{top}.{advice}"


def _standardised(prepared: Preparation) -> str:
    if not any(prepared.mean) and set(prepared.deviation) == {1.0}:
        return ""
    return f", standardised by mean={prepared.mean} and deviation={prepared.deviation}"


def _scaled(prepared: Preparation, dtype: str) -> str:
    return (
        f"x holds colours in 0..255 ({dtype}): they are divided by 255{_standardised(prepared)}. Write scale='as is' "
        "if the model reads 0..255."
    )


def _channels_come_first(shape: Sequence[int], reading: Reading) -> bool:
    """Whether rows are (channels, height, width); SpecError where they may as well be (height, width, channels)."""
    if reading.channels_first is not None:
        return reading.channels_first
    channels, height, width = shape
    first, last = channels in COLOURS, width in COLOURS
    square_first, square_last = height == width, channels == height
    if not last or square_first:
        return not (last and square_last and not square_first)
    if square_last or (not first and min(channels, height) >= 8):
        return False
    raise SpecError(
        f"x has images of shape {tuple(shape)}, whose channels may come first or last. Write channels_first=True if "
        "they are (channels, height, width), or channels_first=False if they are (height, width, channels)."
    )


def _array_preparation(parts: list[Tensor], reading: Reading) -> Preparation | None:
    """How colours in 0..255 are read; None: as they are. SpecError for floats in 0..255 that nobody spoke of."""
    if reading.resize is not None or reading.side is not None:
        raise SpecError("resize and side are for image files and Pillow's images, and x is an array: leave them out.")
    are_bytes = [_are_bytes(part) for part in parts]
    scaled = reading.scale == "unit"
    if reading.scale is None:
        for name, part, bright in zip(("x", "reference"), parts, are_bytes, strict=False):
            if bright and part.is_floating_point():
                raise SpecError(
                    f"{name} holds images with colours up to {float(part.max()):g}, and a network for images reads "
                    f"numbers of about -3 to 3. Divide by 255 (scale='unit' does), or write scale='as is' if the model "
                    "was trained on 0..255."
                )
        scaled = any(are_bytes)
    if reading.mean is not None and not scaled:
        raise SpecError(
            "mean and deviation standardise colours that are read as 0..255, and x holds others: standardise x by "
            "yourself, or write scale='unit'."
        )
    if not scaled:
        return None
    colours = (reading.mean or (0.0,), reading.deviation or (1.0,))
    if len(colours[0]) not in (1, parts[0].shape[1]):
        channels = counted(parts[0].shape[1], "channel")
        raise SpecError(f"mean={reading.mean} has {len(colours[0])} numbers, and images have {channels}.")
    return Preparation(None, None, *colours)


def _are_bytes(colours: Tensor) -> bool:
    """Whether these are colours in 0..255."""
    if colours.dim() != 4 or not colours.numel() or colours.shape[1] not in COLOURS or colours.dtype == torch.bool:
        return False
    return bool(colours.min() >= 0) and BRIGHT < float(colours.max()) <= 255


def _floats(name: str, numbers: Tensor, dtype: torch.dtype, prepared: Preparation | None) -> Tensor:
    if prepared is None:
        return floats(name, numbers, dtype)
    exact = torch.float64 if dtype == torch.float64 else torch.float32
    return prepared.standardised(floats(name, numbers, exact) / 255).to(dtype)
