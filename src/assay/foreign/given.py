"""Attributions that exist already, as arrays: row i belongs to row i of the data."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from assay.core.errors import BadAttribution, NotApplicable, SpecError
from assay.core.query import Query
from assay.core.setting import Setting
from assay.foreign.class_axis import has_class_axis, of_target
from assay.foreign.shapley import explained

Array = NDArray[Any]
LISTED = 5  # rows that a message names


@dataclass(frozen=True, eq=False)
class GivenArray:
    """An array in memory: in the input's shape, per feature, or per pixel; of classes at the end the explained one is
    read."""

    values: Array
    base: Array | None = None  # by row: what the values add up from, in an explanation of shap
    explains: Array | None = None  # the rows that an explanation says it is about
    columns: tuple[str, ...] = ()  # their names, where the values came in a frame

    given: ClassVar[bool] = True  # holds attributions of these samples only; it cannot explain others

    @property
    def covered(self) -> int:
        """How many rows of the data have attributions: the first ones."""
        return len(self.values)

    def __call__(self, query: Query) -> Tensor:
        if self.base is None:
            return of_target(own_rows(self.values, query), query)
        return explained(own_rows(self.values, query), own_rows(self.base, query), query)

    def check_fits(self, setting: Setting, x: Tensor) -> None:
        """SpecError where these cannot be attributions of these rows."""
        check_rows(self.values, setting, x)
        names = getattr(setting.features, "names", ())
        if set(self.columns) == set(names) and self.columns != names:
            raise SpecError("has the columns of x in another order: write maps[list(x.columns)].")
        explains = self.explains
        if explains is not None and setting.given is None and explains.shape == (len(self.values), *x.shape[1:]):
            known = x[: len(explains)].detach().cpu().numpy()
            close = np.isclose(explains, known, rtol=1e-3, atol=1e-5).reshape(len(known), -1)
            wrong = np.asarray(~close.all(axis=1))
            if wrong.any():
                raise SpecError(
                    f"explains other rows than x: its data differ in {_listed(wrong)}. Row i belongs to row i of x."
                )


def given_array(thing: Any) -> GivenArray | None:
    """Attributions in an array, a tensor, a frame, lists, or an explanation of shap; None for anything else."""
    if hasattr(thing, "base_values") and isinstance(getattr(thing, "values", None), np.ndarray):
        return _explanation(thing)
    columns: tuple[str, ...] = ()
    if hasattr(thing, "to_numpy") and hasattr(thing, "columns"):
        thing, columns = thing.to_numpy(), tuple(map(str, thing.columns))
    if isinstance(thing, Tensor):
        thing = thing.detach().cpu().numpy()
    if isinstance(thing, list | tuple):
        with suppress(TypeError, ValueError):
            thing = np.asarray(thing)
    if not isinstance(thing, np.ndarray) or thing.dtype.kind not in "fiub" or not thing.ndim:
        return None
    return GivenArray(thing, columns=columns)


def _explanation(thing: Any) -> GivenArray:
    values, rows = thing.values, getattr(thing, "data", None)
    base = None if thing.base_values is None else np.asarray(thing.base_values)
    if base is not None and base.shape[:1] != values.shape[:1]:  # one for all rows, or one per class
        base = np.broadcast_to(base, (len(values), *base.shape))
    is_plain = isinstance(rows, np.ndarray) and rows.dtype.kind in "fiub"
    return GivenArray(values, base, rows if is_plain else None)


def own_rows(array: Array, query: Query, name: str = "the array") -> Tensor:
    """The rows of an array that belong to the samples."""
    rows = query.data_rows or query.indices
    if max(rows) >= len(array):
        raise NotApplicable(f"needs a row for sample {max(rows)}, and {name} has {len(array)}")
    return torch.from_numpy(array[list(rows)]).to(query.x)


def check_rows(array: Array, setting: Setting, x: Tensor) -> None:
    """SpecError where an array cannot hold attributions of the first rows."""
    with torch.no_grad():
        outputs = int(setting.model(x[:1]).shape[1])
    try:
        has_class_axis(array.shape[1:], setting.features, outputs)
    except BadAttribution as error:
        raise SpecError(f"{error}.") from None
    if len(array) > len(x):
        raise SpecError(f"has shape {array.shape}, and x has shape {tuple(x.shape)}: {len(array)} rows for {len(x)}.")
    if not len(array):
        raise SpecError("has no rows.")
    bad = np.asarray(~np.isfinite(array.astype(np.float64)).reshape(len(array), -1).all(axis=1))
    if bad.any():
        raise SpecError(f"has NaN or infinite values in {_listed(bad)}.")


def _listed(wrong: Array) -> str:
    rows = np.flatnonzero(wrong).tolist()
    named = ", ".join(map(str, rows[:LISTED])) + (", ..." if len(rows) > LISTED else "")
    return f"{len(rows)} of {len(wrong)} rows: {named}"
