"""Attributions that were computed elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError, suggest
from assay.core.query import Query
from assay.core.spec import File


@dataclass(frozen=True)
class Precomputed:
    """Rows of an array in an .npz file: row i is the attribution of sample i, in the input's or the features' shape."""

    given: ClassVar[bool] = True  # numbers of these samples alone: it cannot be asked about others

    path: File  # the .npz file
    array: str = "attribution"  # the array's name in the file

    def __call__(self, query: Query) -> Tensor:
        rows = self._load()
        last = max(query.indices)
        if last >= len(rows):
            raise NotApplicable(f"needs a row for sample {last}, and '{self.array}' in {self.path} has {len(rows)}")
        return torch.from_numpy(rows[list(query.indices)]).to(query.x)

    def _load(self) -> npt.NDArray[Any]:
        if not Path(self.path).is_file():
            raise SpecError(f"precomputed: there is no file '{self.path}'.")
        try:
            with open(self.path, "rb") as file:
                return self._pick(np.load(file, allow_pickle=False))
        except (ValueError, BadZipFile, OSError) as error:
            raise SpecError(f"precomputed: cannot read '{self.path}' as an .npz of plain arrays: {error}.") from None

    def _pick(self, arrays: Mapping[str, npt.NDArray[Any]] | npt.NDArray[Any]) -> npt.NDArray[Any]:
        if isinstance(arrays, np.ndarray):
            raise ValueError("it holds a single array without a name")
        if self.array not in arrays:
            known = ", ".join(arrays)
            raise SpecError(f"'{self.path}' has no array '{self.array}'.{suggest(self.array, arrays)} It has: {known}.")
        return arrays[self.array]
