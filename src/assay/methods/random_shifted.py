"""A map that knows nothing, shifted: no feature is near zero."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import ClassVar

from torch import Tensor

from assay.core.errors import SpecError
from assay.core.query import Query


@dataclass(frozen=True)
class RandomShifted:
    """Numbers drawn uniformly from [offset, offset + 1), one per feature.

    The offset changes no order of features, nor of sums over patches of one size; a metric that takes this for another
    map than a uniform one judges the size of attributions.
    """

    offset: float = 1.0  # what is added to a number in [0, 1)

    paper: ClassVar[str] = "Zabička et al., Benchmarking the Attribution Quality of Vision Models: a reproduction"
    control: ClassVar[bool] = True  # knows nothing about the model

    def __post_init__(self) -> None:
        if not isfinite(self.offset):
            raise SpecError(f"random_shifted: an offset of {self.offset} leaves no numbers. Choose a finite one.")

    def __call__(self, query: Query) -> Tensor:
        return query.draws("map").uniform(*query.setting.features.shape).to(query.x) + self.offset
