"""Reads arrays, tensors and lists of numbers: tables, images, series and token ids."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from assay.core.errors import SpecError
from assay.core.features import Columns, Steps
from assay.foreign.inputs import checked_rows
from assay.users.images import read_image_array
from assay.users.numbers import conversion, float_format, floats, numbers_of
from assay.users.reading import Reading
from assay.users.rows import Rows
from assay.users.series import UnknownOrder
from assay.users.tokens import are_ids, read_tokens

SHAPES = (
    "write tables as (N, columns), images as (N, channels, height, width), and series as (N, channels, steps) or "
    "(N, steps, channels)"
)


def read_array(data: Any, reference: Any | None, reading: Reading) -> Rows:
    """Rows of an array, by its number of dimensions."""
    if reading.tokens and are_ids(data):
        return read_tokens(data, reference, reading)
    x = numbers_of("x", data)
    extra = None if reference is None else numbers_of("reference", reference)
    if x.dim() not in (2, 3, 4):
        raise SpecError(
            f"x has shape {tuple(x.shape)}: {'for one row, give x[None]; ' if x.dim() == 1 else ''}{SHAPES}."
        )
    dtype = float_format(x, reading, data)
    if x.dim() == 4:
        return read_image_array(x, extra, dtype, reading)
    if x.dim() == 2 and reading.missing and any(part is not None and bool(part.isnan().any()) for part in (x, extra)):
        return _with_missing(x, extra, reading, isinstance(data, Tensor))
    features = Columns.plain(x.shape[1]) if x.dim() == 2 else _steps(x, reading)
    rows = floats("x", x, dtype)
    kind = "table" if x.dim() == 2 else "series"
    return Rows(
        rows,
        features,
        kind,  # type: ignore[arg-type]
        reference=None if extra is None else checked_rows("reference", floats("reference", extra, dtype), rows),
        notes=conversion("x", x, dtype),
    )


def _steps(x: Tensor, reading: Reading) -> Steps:
    first = reading.channels_first
    if first is None:
        alone = " For one image, give x[None]." if x.shape[0] in (1, 3, 4) else ""
        raise UnknownOrder(
            f"x has shape {tuple(x.shape)}, which may be series or grey images. For series (N, channels, steps), write "
            "channels_first=True; for series (N, steps, channels), channels_first=False. For grey images (N, height, "
            f"width), give x[:, None].{alone}"
        )
    channels, steps = x.shape[1:] if first else x.shape[:0:-1]
    return Steps(channels, steps, first, reading.by or "steps")


def _with_missing(x: Tensor, extra: Tensor | None, reading: Reading, as_tensors: bool) -> Rows:
    """A table with missing values, for a model that reads these."""
    import pandas as pd

    from assay.users.frames import read_frame

    frames = [None if part is None else pd.DataFrame(part.double().cpu().numpy()) for part in (x, extra)]
    rows = read_frame(frames[0], frames[1], reading)

    def given(entries: Tensor) -> Any:
        array = rows.given(entries).to_numpy()  # type: ignore[misc]
        return torch.from_numpy(array).to(x.dtype) if as_tensors else array

    features = Columns(rows.features.groups)  # type: ignore[attr-defined]
    return replace(rows, features=features, given=given)
