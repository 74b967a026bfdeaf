"""A random map plus a constant: no feature is near zero."""

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

    The offset does not change the order of features, nor the order of sums over patches of one size. A metric that
    scores this map unlike a uniform one therefore judges the size of attributions.
    """

    offset: float = 1.0  # added to a number in [0, 1)

    paper: ClassVar[str] = "Zabička et al., Benchmarking the Attribution Quality of Vision Models: a reproduction"
    control: ClassVar[bool] = True  # knows nothing about the model

    def __post_init__(self) -> None:
        if not isfinite(self.offset):
            raise SpecError(f"random_shifted: offset={self.offset} is not finite. Choose a finite number.")

    def __call__(self, query: Query) -> Tensor:
        return query.draws("map").uniform(*query.setting.features.shape).to(query.x) + self.offset
