"""Reads token ids: a feature is the token at a position."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from assay.core.errors import SpecError
from assay.core.features import Columns
from assay.users.phrases import counted, of_rows
from assay.users.reading import Reading
from assay.users.rows import Rows

IDS, MASK = "input_ids", "attention_mask"  # what tokenizers call them
PADDING = -1  # the entry of a position behind the end of a row


@dataclass(frozen=True, eq=False)
class TokenIds:
    """How ids are given back."""

    padding: int  # the id behind the end of a row
    others: tuple[str, ...] | None  # names beside the ids; None: ids alone
    tensors: bool

    def given(self, entries: Tensor) -> Any:
        whole = entries.detach().round().long()
        inside = whole > PADDING
        ids = torch.where(inside, whole, self.padding)
        if self.others is None:
            return self._own(ids)
        rest = {name: self._own(inside.long() if name == MASK else torch.zeros_like(ids)) for name in self.others}
        return {IDS: self._own(ids), **rest}

    def _own(self, ids: Tensor) -> Any:
        return ids if self.tensors else ids.cpu().numpy()


def is_tokenized(data: Any) -> bool:
    """Whether these are the answers of a tokenizer."""
    return isinstance(data, Mapping) and IDS in data


def are_ids(data: Any) -> bool:
    """Whether these are rows of whole numbers, of any lengths."""
    if hasattr(data, "ndim") and data.ndim != 2:
        return False
    try:
        return len(data) > 0 and all(row.ndim == 1 and row.dtype.kind in "iu" for row in _each(data))
    except Exception:  # of any object that is no array
        return False


def _each(data: Any) -> list[NDArray[Any]]:
    return [np.asarray(row) for row in (data.cpu() if isinstance(data, Tensor) else data)]


def read_tokens(data: Any, reference: Any | None, reading: Reading) -> Rows:
    """Rows of token ids; entries are ids, and ``PADDING`` behind the end of a row."""
    parts = [("x", data)] if reference is None else [("x", data), ("reference", reference)]
    found = [_masked(name, part) for name, part in parts]
    longest = max(ids.shape[1] for ids, _ in found)
    rows, *extra = [torch.nn.functional.pad(ids, (0, longest - ids.shape[1]), value=PADDING) for ids, _ in found]
    if reading.words and len(reading.words) != len(rows):
        raise SpecError(
            f"words has texts of {counted(len(reading.words), 'row')}, and x has {len(rows)} rows: give one for each."
        )
    others = tuple(name for name in data if name != IDS) if isinstance(data, Mapping) else None
    dtype = torch.float64 if reading.format == torch.float64 else torch.float32
    codec = TokenIds(
        found[0][1], others, reading.tensors or isinstance(data[IDS] if isinstance(data, Mapping) else data, Tensor)
    )
    return Rows(
        rows.to(dtype),
        Columns.plain(longest),
        "tokens",
        given=codec.given,
        words=reading.words,
        reference=extra[0].to(dtype) if extra else None,
        notes=(f"Whole numbers are token ids: each of {counted(longest, 'position')} is a feature.",),
    )


def _masked(name: str, data: Any) -> tuple[Tensor, int]:
    """Ids with ``PADDING`` where the mask is 0, and the id that stands there."""
    if not isinstance(data, Mapping):
        return _ids(name, data), 0
    ids, mask = _ids(f"{name}['{IDS}']", data[IDS]), None
    for key in (key for key in data if key != IDS):
        values = _ids(f"{name}['{key}']", data[key])
        if key == MASK:
            mask = values
        elif bool(values.any()):
            raise SpecError(
                f"{name}['{key}'] is not 0 everywhere, and rows are told by '{IDS}' and '{MASK}' alone: leave it "
                "out, or explain one text at a time."
            )
    if mask is None or mask.shape != ids.shape:
        return ids, 0
    behind = ids[mask == 0]
    return torch.where(mask == 0, PADDING, ids), int(behind[0]) if len(behind) else 0


def _ids(name: str, data: Any) -> Tensor:
    """(N, positions) long; rows of different lengths are filled up with ``PADDING``."""
    rows = _each(data)
    if not rows or any(row.ndim != 1 or row.dtype.kind not in "iub" or not len(row) for row in rows):
        raise SpecError(f"{name} has no token ids: whole numbers (N, positions) are needed, as a tokenizer gives them.")
    negative = np.array([bool((row < 0).any()) for row in rows])
    if negative.any():
        raise SpecError(f"{name} has negative token ids in {of_rows(negative)}: ids count from 0.")
    ids = np.full((len(rows), max(map(len, rows))), PADDING, dtype=np.int64)
    for place, row in enumerate(rows):
        ids[place, : len(row)] = row
    return torch.from_numpy(ids)
