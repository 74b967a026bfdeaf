"""How data are to be read where they leave it open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypedDict

import torch

from assay.core.errors import SpecError, suggest
from assay.users.pictures import check_preparation

LIMIT = 256  # rows that are read of what may be long: data sets, loaders and folders
CHOICES = {"by": ("steps", "channels", "both"), "scale": ("unit", "as is")}


class HowRead(TypedDict, total=False):
    """What a user may say about the data: keywords of ``assay.evaluate`` and ``assay.attribute``."""

    by: Literal["steps", "channels", "both"]
    channels_first: bool
    scale: Literal["unit", "as is"]
    text: str
    words: tuple[tuple[str, ...], ...]
    resize: int
    side: int
    mean: tuple[float, ...]
    deviation: tuple[float, ...]


@dataclass(frozen=True)
class Reading:
    """What the user says about the data, and what is known about the model."""

    by: Literal["steps", "channels", "both"] | None = None  # what a feature of a series is; None: a step
    channels_first: bool | None = None  # rows are (channels, ...), not (..., channels); None: as images look
    scale: Literal["unit", "as is"] | None = None  # images: divided by 255, or not; None: whole numbers up to 255 are
    text: str | None = None  # the column that rows are texts of; None: an only column, if it holds text
    words: tuple[tuple[str, ...], ...] = ()  # of token ids, by row, the text of each
    limit: int | None = None  # rows read of data sets, loaders and folders; None: LIMIT
    resize: int | None = None  # images: pixels of the shorter side; None: as side, or 256 where sizes differ
    side: int | None = None  # images: pixels of the square that is cut out; None: as resize, or 224 where sizes differ
    mean: tuple[float, ...] | None = None  # subtracted from colours in 0..1; None: ImageNet's for files, else none
    deviation: tuple[float, ...] | None = None  # by which they are divided after that

    dtype: torch.dtype | None = None  # of the model's parameters; None: the data's own
    otherwise: torch.dtype | None = None  # where neither has one; None: torch's default
    missing: bool = False  # the model reads missing values
    whole: bool = True  # columns of whole numbers reach the model as such, rounded; False: as floats
    columns: tuple[str, ...] = ()  # that the model reads, in its order; empty: all
    inputs: tuple[str, ...] = ()  # names of the model's inputs
    tokens: bool = False  # rows of whole numbers are token ids
    tensors: bool = False  # several inputs reach the model as tensors, whatever the user gave
    channels_last: bool = False  # the model reads images (height, width, channels)

    @property
    def format(self) -> torch.dtype:
        """Of numbers that have no format of their own."""
        return self.dtype or self.otherwise or torch.get_default_dtype()

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            value = getattr(self, name)
            if value is not None and value not in choices:
                raise SpecError(f"{name}='{value}': write {' or '.join(choices)}.{suggest(str(value), choices)}")
        if self.limit is not None and self.limit < 1:
            raise SpecError(f"limit={self.limit} leaves no rows: give 1 or more.")
        check_preparation(self.resize, self.side, self.mean, self.deviation)
