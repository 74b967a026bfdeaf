"""Attributions that were computed elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy.typing as npt
from torch import Tensor

from assay.core.errors import SpecError, suggest
from assay.core.query import Query
from assay.core.setting import Setting
from assay.core.spec import File
from assay.foreign.arrays import read_arrays
from assay.foreign.class_axis import of_target
from assay.foreign.given import check_rows, own_rows


@dataclass(frozen=True)
class Precomputed:
    """Rows of an array in a file, in the input's or the features' shape; a last axis of classes is read at the target.

    Row i is the attribution of sample i, and for a user's data of row i in the data, whatever order a seed takes.
    """

    given: ClassVar[bool] = True  # holds attributions of these samples only; it cannot explain others

    path: File  # the .npz file, or an .npy file of one array
    array: str = "attribution"  # the array's name in the .npz file

    @property
    def covered(self) -> int:
        """How many rows there are."""
        return len(self._load())

    def __call__(self, query: Query) -> Tensor:
        return of_target(own_rows(self._load(), query, f"'{self.array}' in {self.path}"), query)

    def check_fits(self, setting: Setting, x: Tensor) -> None:
        """SpecError where these cannot be attributions of these rows."""
        check_rows(self._load(), setting, x)

    def _load(self) -> npt.NDArray[Any]:
        if not Path(self.path).is_file():
            raise SpecError(f"precomputed: there is no file '{self.path}'.")
        arrays, names = read_arrays(self.path, [self.array], single=self.array)
        if self.array not in arrays:
            listed = ", ".join(names)
            raise SpecError(f"'{self.path}' has no array '{self.array}'.{suggest(self.array, names)} It has: {listed}.")
        array = arrays[self.array]
        if array.dtype.kind not in "fiub" or not array.ndim:
            raise SpecError(f"'{self.array}' in '{self.path}' is {array.dtype} {array.shape}: rows of real numbers.")
        return array
