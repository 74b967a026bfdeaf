"""A column of a data frame as entries, and back: a number is one entry, a category one of a group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from assay.core.errors import SpecError
from assay.core.records import printable
from assay.users.phrases import listed, of_rows

MARKERS = {"", "?", "-", "--", ".", "#n/a", "n/a", "na", "nan", "nil", "none", "null", "missing", "unknown"}  # no value
FEW = 10  # different numbers: with more, a column is one of numbers, whatever else stands in it


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers, or True and False: an entry, and one more that is 1 where the value is missing."""

    dtype: Any  # of the column that is given back
    filling: float | None = None  # the first entry of a missing value: the mean of the others; None: none is missing

    @property
    def width(self) -> int:
        return 1 if self.filling is None else 2

    def encode(self, values: Any) -> NDArray[np.float64]:
        """(N, width)"""
        numbers = values.to_numpy(np.float64, na_value=np.nan)
        missing = np.isnan(numbers)
        return (
            numbers[:, None]
            if self.filling is None
            else np.stack([np.where(missing, self.filling, numbers), missing], 1)
        )

    def decode(self, entries: NDArray[np.float64]) -> Any:
        column = pd.Series(self.values_of(entries[:, 0])).astype(self.dtype)
        return column if self.filling is None else column.mask(entries[:, 1] > 0.5)

    def values_of(self, numbers: NDArray[np.float64]) -> NDArray[Any]:
        """Any numbers as this column has them: whole, or True and False."""
        if types.is_bool_dtype(self.dtype):
            return numbers > 0.5
        if not types.is_integer_dtype(self.dtype):
            return numbers.astype(self.dtype) if isinstance(self.dtype, np.dtype) else numbers
        kind = np.dtype(getattr(self.dtype, "numpy_dtype", self.dtype))
        low, high = np.iinfo(kind).min, np.iinfo(kind).max
        most = np.nextafter(float(high), 0) if kind.itemsize == 8 else high  # 2**63 is a float64, and no int64
        whole: NDArray[Any] = np.clip(np.rint(numbers), low, most).astype(kind)
        return whole


@dataclass(frozen=True, eq=False)
class Levels:
    """Categories: an entry for each, of which one is 1, and a last one where values are missing."""

    levels: Any  # their values, an array in the column's format
    dtype: Any  # of the column that is given back
    missing: bool = False
    nothing: Any = None  # what a column of objects has in place of a missing value

    @property
    def width(self) -> int:
        return len(self.levels) + self.missing

    def encode(self, values: Any) -> NDArray[np.float64]:
        """(N, width)"""
        codes = pd.Categorical(values, categories=self.levels).codes.astype(np.int64)  # -1: missing
        rows = np.zeros((len(codes), self.width))
        rows[np.arange(len(codes)), codes] = 1
        return rows

    def decode(self, entries: NDArray[np.float64]) -> Any:
        """The category with the largest entry; the first one of several."""
        codes = entries.argmax(axis=1)
        codes = np.where(codes == len(self.levels), -1, codes)
        if isinstance(self.dtype, pd.CategoricalDtype):
            return pd.Series(pd.Categorical.from_codes(codes, dtype=self.dtype))
        column = pd.Series(self.levels.take(codes, allow_fill=True)).astype(self.dtype)
        return column.where(codes >= 0, self.nothing) if self.dtype == object else column


Column: TypeAlias = Numbers | Levels


def column_of(values: Any, whole: bool) -> Column:
    """How a checked column is encoded, by all of its values."""
    missing = bool(values.isna().any())
    if isinstance(values.dtype, pd.CategoricalDtype):
        return Levels(values.cat.categories, values.dtype, missing)
    if is_number(values):
        keep = whole or types.is_bool_dtype(values.dtype) or types.is_float_dtype(values.dtype)
        return Numbers(values.dtype if keep else np.dtype(np.float64), _mean(values) if missing else None)
    found = sorted(values.dropna().unique())
    nothing = values[values.isna()].iloc[0] if missing else None
    return Levels(pd.array(found, dtype=values.dtype), values.dtype, missing, nothing)


def _mean(values: Any) -> float:
    """The mean of the values that are there; 0 of none."""
    present = values.dropna().to_numpy(np.float64)
    with np.errstate(over="ignore"):
        mean = float(present.mean()) if len(present) else 0.0
    return mean if np.isfinite(mean) else float((present / len(present)).sum())


def is_number(values: Any) -> bool:
    return bool(types.is_numeric_dtype(values.dtype))  # of bools, too


def checked_column(where: str, values: Any) -> Any:
    """The column as numbers, as categories or as text; SpecError where it is none of them."""
    if isinstance(values.dtype, pd.SparseDtype):
        values = values.sparse.to_dense()
    if isinstance(values.dtype, pd.CategoricalDtype) or (
        is_number(values) and not types.is_complex_dtype(values.dtype)
    ):
        return values
    kind = types.infer_dtype(values, skipna=True)
    if kind == "empty":
        return values
    if kind == "string":
        return _checked_text(where, values)
    if kind in ("integer", "floating", "mixed-integer-float", "decimal", "boolean"):
        inferred = values.infer_objects()
        return inferred if is_number(inferred) else values.astype("boolean" if kind == "boolean" else np.float64)
    raise SpecError(f"{where} {_refusal(kind, values)}")


def _refusal(kind: str, values: Any) -> str:
    if kind.startswith(("date", "time", "period")):
        return (
            f"holds dates or times ({values.dtype}): a number or a category is needed. Make it one, as the model reads "
            "it (.dt.year, .dt.dayofweek, or the days since a date), or leave the column out."
        )
    if kind == "bytes":
        return "holds bytes: give them as text, with .str.decode('utf-8')."
    is_text = values.map(lambda value: isinstance(value, str)).to_numpy(bool)
    if kind.startswith("mixed") and is_text.any() and is_text[values.notna()].mean() < 0.5:
        return _text_among_numbers(values, is_text)
    if kind.startswith("mixed") and is_text.any():
        other = values[~is_text & values.notna().to_numpy()].iloc[0]
        return (
            f"mixes text and other values, such as {_shown(other)} ({type(other).__name__}): make all of it text, "
            "with .astype(str), or all of it numbers."
        )
    first = values.dropna().iloc[0]
    return (
        f"holds {kind} values such as {_shown(first)} ({type(first).__name__}): numbers, categories or text are needed."
    )


def _checked_text(where: str, values: Any) -> Any:
    """The texts; SpecError where they are numbers but for a few."""
    present = values.notna().to_numpy()
    numbers = pd.to_numeric(values, errors="coerce")
    others = present & numbers.isna().to_numpy()
    if not others.any() or others.sum() > present.sum() / 2:
        return values
    are_markers = all(text.strip().lower() in MARKERS for text in values[others].unique())
    if are_markers or numbers.nunique() > FEW:
        raise SpecError(f"{where} {_text_among_numbers(values, others)}")
    return values


def _text_among_numbers(values: Any, others: NDArray[np.bool_]) -> str:
    texts = listed([_shown(text) for text in values[others].unique()], 3)
    return (
        f"holds numbers, and {texts} in {of_rows(others)}. Leave the field of a missing value empty (in Python: "
        "pd.to_numeric(column, errors='coerce')) or leave these rows out; if the numbers are names of categories, give "
        "the column as such, with .astype(str).astype('category')."
    )


def _shown(value: object) -> str:
    return printable(repr(value), 60)
