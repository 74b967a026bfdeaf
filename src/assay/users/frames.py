"""Reads data frames: numbers, and text and categories as one entry per category, explained as one column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from pandas.api import types
from torch import Tensor

from assay.core.errors import SpecError, suggest
from assay.core.features import Columns
from assay.foreign.inputs import dtype_name
from assay.users.columns import Column, Levels, Numbers, checked_column, column_of, is_number
from assay.users.numbers import as_dtype
from assay.users.phrases import counted, listed, of_rows, quoted
from assay.users.reading import Reading
from assay.users.rows import Rows

MANY = 50  # categories of a column, with more it is told
LARGEST = 2**27  # entries of all rows
INDEX = "Unnamed: 0"  # what pandas calls an index that was saved without a name


@dataclass(frozen=True, eq=False)
class Encoding:
    """How a frame's columns are encoded, one after the other."""

    names: Any  # of the columns, as the user's frame has them
    columns: tuple[Column, ...]

    @property
    def groups(self) -> tuple[int, ...]:
        """The column of each entry."""
        return tuple(number for number, column in enumerate(self.columns) for _ in range(column.width))

    @cached_property
    def starts(self) -> list[int]:
        return np.cumsum([0, *(column.width for column in self.columns)]).tolist()  # type: ignore[no-any-return]

    @cached_property
    def is_plain(self) -> bool:
        """Whether all columns are numbers of one of numpy's formats: a frame of many columns is made at once."""
        kinds = {column.dtype if isinstance(column, Numbers) else None for column in self.columns}
        one = next(iter(kinds))
        return len(kinds) == 1 and isinstance(one, np.dtype) and len(self.starts) == self.starts[-1] + 1

    def encode(self, columns: Sequence[Any]) -> NDArray[np.float64]:
        return np.concatenate([made.encode(values) for made, values in zip(self.columns, columns, strict=True)], axis=1)

    def decode(self, entries: Tensor) -> Any:
        """The data frame whose rows have these entries."""
        numbers = entries.detach().cpu().double().numpy()
        if self.is_plain:
            return pd.DataFrame(self.columns[0].values_of(numbers), columns=self.names)  # type: ignore[union-attr]
        parts = zip(self.columns, self.starts, strict=False)
        found = {
            place: column.decode(numbers[:, start : start + column.width])
            for place, (column, start) in enumerate(parts)
        }
        frame = pd.DataFrame(found, copy=False)
        frame.columns = self.names
        return frame


def read_frame(frame: Any, reference: Any | None, reading: Reading) -> Rows:
    """Rows of a data frame; ``given`` gives frames back. Categories are those of the rows and of the reference."""
    notes = list(_index_notes(frame, reading))
    frame = _checked_frame("x", _selected("x", frame, reading.columns))
    columns = _checked_columns("x", frame)
    if reference is not None:
        reference = _aligned(_selected("reference", reference, reading.columns), frame)
        columns = [
            _joined(name, first, second)
            for name, first, second in zip(
                frame.columns, columns, _checked_columns("reference", reference), strict=True
            )
        ]
    for name, start, end in (("x", 0, len(frame)), ("reference", len(frame), len(columns[0]))):
        _check_values(name, frame.columns, [column.iloc[start:end] for column in columns], reading.missing)
    encoding = Encoding(frame.columns, tuple(column_of(column, reading.whole) for column in columns))
    _check_size(frame.columns, encoding.columns, len(columns[0]))
    dtype = reading.format
    entries = as_dtype("x", torch.from_numpy(encoding.encode(columns)), dtype)
    notes += _notes(encoding, columns, dtype)
    return Rows(
        entries[: len(frame)],
        Columns(encoding.groups, tuple(map(str, frame.columns))),
        "table",
        given=encoding.decode,
        reference=None if reference is None else entries[len(frame) :],
        notes=tuple(notes),
    )


def _index_notes(frame: Any, reading: Reading) -> list[str]:
    if INDEX not in frame.columns or reading.columns:
        return []
    return [
        f"Careful: the column '{INDEX}' looks like row numbers that were saved with the table. Leave it out, if so."
    ]


def _checked_frame(name: str, frame: Any) -> Any:
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise SpecError(f"{name} has several columns named '{twice[0]}': give each another name.")
    if frame.shape[1] == 0:
        raise SpecError(f"{name} has no columns that could be explained.")
    if len(frame) == 0:
        raise SpecError(f"{name} has no rows.")
    return frame


def _checked_columns(name: str, frame: Any) -> list[Any]:
    return [
        checked_column(f"{name}: column '{column}'", frame[column].reset_index(drop=True)) for column in frame.columns
    ]


def _selected(name: str, frame: Any, wanted: Sequence[str]) -> Any:
    """The columns that the model reads, in its order; all, where it does not say."""
    if not wanted:
        return frame
    by_name = {str(column): column for column in frame.columns}
    if absent := [column for column in wanted if column not in by_name]:
        close = suggest(absent[0], by_name)
        raise SpecError(
            f"{name} has no column {quoted(absent)}, and the model reads {counted(len(wanted), 'column')}: "
            f"{listed(wanted)}.{close} {name} has {listed(by_name)}."
        )
    return frame[[by_name[column] for column in wanted]]


def _aligned(reference: Any, frame: Any) -> Any:
    """The reference's columns in the order of the rows'; SpecError names those that only one of them has."""
    absent = [name for name in frame.columns if name not in reference.columns]
    more = [name for name in reference.columns if name not in frame.columns]
    if absent:
        close = suggest(str(absent[0]), map(str, more))
        raise SpecError(f"reference has no column {quoted(absent)}, which x has: give the same columns in both.{close}")
    if more:
        raise SpecError(
            f"reference has columns that x has not, {quoted(more)}: leave them out, or give them in x, too."
        )
    return _checked_frame("reference", reference[list(frame.columns)])


def _joined(name: str, first: Any, second: Any) -> Any:
    """A column of the rows and, below, of the reference."""
    pair = [first, second]
    if any(isinstance(column.dtype, pd.CategoricalDtype) for column in pair):
        return _joined_categories(pair)
    if is_number(first) != is_number(second):
        pair = [
            column.astype(other.dtype) if column.isna().all() else column
            for column, other in zip(pair, pair[::-1], strict=True)
        ]
    kinds = ["numbers" if is_number(column) else "text" for column in pair]
    if kinds[0] != kinds[1]:
        raise SpecError(
            f"column '{name}' holds {kinds[0]} in x and {kinds[1]} in the reference: give the same in both."
        )
    joined = pd.concat(pair, ignore_index=True)
    if kinds[0] == "numbers" and not is_number(joined):  # True and False beside other numbers
        return pd.Series(np.concatenate([column.to_numpy(np.float64, na_value=np.nan) for column in pair]))
    return joined


def _joined_categories(pair: Sequence[Any]) -> Any:
    """With the categories of the first one that has some, in their order, and after these those of the other."""
    own = [column.dtype for column in pair if isinstance(column.dtype, pd.CategoricalDtype)]
    levels = own[0].categories
    for column in pair:
        found = own[-1].categories if column.dtype == own[-1] else sorted(column.dropna().unique())
        levels = levels.append(pd.Index(found).difference(levels, sort=False))
    same = pd.CategoricalDtype(levels, own[0].ordered)
    return pd.concat([column.astype(same) for column in pair], ignore_index=True)


def _check_size(names: Any, columns: Sequence[Column], rows: int) -> None:
    """SpecError before memory is full."""
    total = rows * sum(column.width for column in columns)
    if total > LARGEST:
        width, name = max((column.width, name) for column, name in zip(columns, map(str, names), strict=True))
        raise SpecError(
            f"x: column '{name}' has {width:,} categories, and all rows together {total:,} entries, more than "
            f"{LARGEST:,}: leave the column out, or give fewer rows."
        )


def _check_values(name: str, names: Any, columns: Sequence[Any], missing: bool) -> None:
    """SpecError for infinite numbers, and for missing values where the model does not read them."""
    for column, values in zip(names, columns, strict=True):
        if types.is_float_dtype(values.dtype):
            infinite = np.isinf(values.to_numpy(np.float64, na_value=np.nan))
            if infinite.any():
                raise SpecError(
                    f"{name}: column '{column}' has infinite values in {of_rows(infinite)}: leave them out."
                )
    absent = {str(column): values.isna().to_numpy() for column, values in zip(names, columns, strict=True)}
    absent = {column: mask for column, mask in absent.items() if mask.any()}
    if absent and not missing:
        noun = "the column" if len(absent) == 1 else f"{len(absent)} columns,"
        raise SpecError(
            f"{name} has missing values in {of_rows(np.any(list(absent.values()), axis=0))}, in {noun} "
            f"{quoted(absent)}, and the model does not read them: leave these rows out, or fill them as those that the "
            "model was trained on."
        )


def _notes(encoding: Encoding, columns: Sequence[Any], dtype: torch.dtype) -> list[str]:
    named = list(zip(map(str, encoding.names), encoding.columns, columns, strict=True))
    levels = [(name, column, values) for name, column, values in named if isinstance(column, Levels)]
    notes = []
    if levels:
        parts = listed([f"{name} ({len(column.levels)})" for name, column, _ in levels], 8)
        noun = counted(len(levels), "column") + (" holds" if len(levels) == 1 else " hold")
        notes.append(f"{noun} categories, an entry for each, explained as one column: {parts}.")
    notes += [_many(name, column, values) for name, column, values in levels if len(column.levels) > MANY]
    lacking = [
        f"{name} ({counted(int(values.isna().sum()), 'row')})" for name, _, values in named if values.isna().any()
    ]
    if lacking:
        notes.append(f"Columns with missing values have an entry that says so: {listed(lacking, 8)}.")
    return notes + _number_notes(
        [(name, values) for name, column, values in named if isinstance(column, Numbers)], dtype
    )


def _many(name: str, column: Levels, values: Any) -> str:
    texts = values.dropna().astype(str)
    hint = "each is a category by itself. Leave the column out if it only names the row"
    if (texts.str.count(" ") >= 2).mean() > 0.5:
        hint = f"each is a category by itself. Write text='{name}' if the rows are these texts"
    elif not isinstance(column.dtype, pd.CategoricalDtype) and pd.to_numeric(texts, errors="coerce").notna().all():
        hint = "they are numbers written as text: pd.to_numeric makes it one column of numbers"
    return f"Column '{name}' has {len(column.levels):,} different values in {len(values):,} rows: {hint}."


def _number_notes(numbers: list[tuple[str, Any]], dtype: torch.dtype) -> list[str]:
    kinds = sorted({str(values.dtype) for _, values in numbers} - {dtype_name(dtype)})
    notes = [f"Columns of {', '.join(kinds)} are read as {dtype_name(dtype)}."] if kinds else []
    exact = 2 / torch.finfo(dtype).eps  # whole numbers up to here
    large = [name for name, values in numbers if types.is_integer_dtype(values.dtype) and (values.abs() > exact).any()]
    if large:
        notes.append(
            f"Careful: {dtype_name(dtype)} rounds whole numbers above {exact:,.0f}, as there are in {quoted(large)}."
        )
    return notes
