"""Attributions that were computed elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy.typing as npt
import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError, suggest
from assay.core.query import Query
from assay.core.spec import File
from assay.foreign.arrays import read_arrays


@dataclass(frozen=True)
class Precomputed:
    """Rows of an array in a file: row i is the attribution of sample i, in the input's or the features' shape."""

    given: ClassVar[bool] = True  # holds attributions of these samples only; it cannot explain others

    path: File  # the .npz file, or an .npy file of one array
    array: str = "attribution"  # the array's name in the .npz file

    def __call__(self, query: Query) -> Tensor:
        rows = self._load()
        last = max(query.indices)
        if last >= len(rows):
            raise NotApplicable(f"needs a row for sample {last}, and '{self.array}' in {self.path} has {len(rows)}")
        return torch.from_numpy(rows[list(query.indices)]).to(query.x)

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
