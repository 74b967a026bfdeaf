"""Many small pictures in one large one: lossless sheets of square tiles, row by row, with labels in a separate npz."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from assay.core.errors import AssayError


def tiles(raw: bytes, side: int) -> NDArray[np.uint8]:
    """The tiles of one sheet: (N, side, side, 3)."""
    with Image.open(BytesIO(raw)) as sheet:
        pixels = np.asarray(sheet.convert("RGB"))
    rows, columns = pixels.shape[0] // side, pixels.shape[1] // side
    if pixels.shape[:2] != (rows * side, columns * side):
        raise AssayError(f"a sheet of {pixels.shape[1]} x {pixels.shape[0]} pixels has no whole {side} x {side} tiles.")
    return pixels.reshape(rows, side, columns, side, 3).swapaxes(1, 2).reshape(-1, side, side, 3)


def arrays(raw: bytes, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """The named arrays of an npz file."""
    with np.load(BytesIO(raw), allow_pickle=False) as archive:
        return {name: archive[name] for name in names}
