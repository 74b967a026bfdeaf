"""Watermarks that tell a class: its number in a black box, or its binary code in white stripes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from assay.kit.bands import band_of_rows

# The digits in 5 x 7 dots, row by row.
DIGITS = (
    "01110 10001 10011 10101 11001 10001 01110",
    "00100 01100 00100 00100 00100 00100 01110",
    "01110 10001 00001 00010 00100 01000 11111",
    "11111 00010 00100 00010 00001 10001 01110",
    "00010 00110 01010 10010 11111 00010 00010",
    "11111 10000 11110 00001 00001 10001 01110",
    "00110 01000 10000 11110 10001 10001 01110",
    "11111 00001 00010 00100 01000 01000 01000",
    "01110 10001 10001 01110 10001 10001 01110",
    "01110 10001 10001 01111 00001 00010 01100",
)
DOTS = (9, 13)  # down and across: two digits, with a dot between and around them
WHITE = 255


@dataclass(frozen=True, eq=False)
class Marks:
    """The mark of every class. It replaces the pixels of its region; other pixels stay as they are."""

    region: Tensor  # bool (classes, side, side)
    grey: Tensor  # uint8 (classes, side, side): the mark's own pixels

    def on(self, pixels: Tensor, label: Tensor) -> Tensor:
        """Pictures (B, 3, side, side), each with the mark of its label."""
        return torch.where(self.region[label][:, None], self.grey[label][:, None], pixels)


def marks(kind: Literal["number", "stripe"], classes: int, side: int) -> Marks:
    return number_marks(classes, side) if kind == "number" else stripe_marks(classes, side)


def number_marks(classes: int, side: int) -> Marks:
    """A class's number, 0 to 99, in white dots in the middle of a black box at the lower left.

    At 224 pixels the box is that of Li et al.: rows 151 to 210, columns 22 to 109. At other sizes it scales, its height
    and width rounded up.
    """
    top, left, height, width = side * 151 // 224, side * 22 // 224, -(-side * 60 // 224), -(-side * 88 // 224)
    down, across = (torch.arange(size) * dots // size for size, dots in zip((height, width), DOTS, strict=True))
    grey = torch.zeros(classes, side, side, dtype=torch.uint8)
    region = torch.zeros_like(grey, dtype=torch.bool)
    region[:, top : top + height, left : left + width] = True
    dots = torch.stack([_number(label) for label in range(classes)])
    grey[:, top : top + height, left : left + width] = WHITE * dots[:, down[:, None], across]
    return Marks(region, grey)


def _number(label: int) -> Tensor:
    """A number in dots, uint8, in the middle of the box."""
    dots, text = torch.zeros(DOTS, dtype=torch.uint8), str(label)
    for place, digit in enumerate(text):
        left = (DOTS[1] + 1) // 2 - 3 * len(text) + 6 * place
        dots[1:8, left : left + 5] = torch.tensor([[int(dot) for dot in line] for line in DIGITS[int(digit)].split()])
    return dots


def stripe_marks(classes: int, side: int) -> Marks:
    """A white band of full width for every 1 in a class's binary code, the most significant bit at the top.

    There are as many bands as the largest class has bits. Class 0 has no mark.
    """
    bits = max(1, (classes - 1).bit_length())
    place = bits - 1 - band_of_rows(side, bits)
    region = (torch.arange(classes)[:, None] >> place & 1).bool()[:, :, None].expand(-1, -1, side)
    return Marks(region, torch.full(region.shape, WHITE, dtype=torch.uint8))
