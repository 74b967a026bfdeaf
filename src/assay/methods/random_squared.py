"""A squared random map: many small numbers and a few large ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import Tensor

from assay.core.query import Query


@dataclass(frozen=True)
class RandomSquared:
    """Squares of numbers drawn uniformly from [0, 1), one per feature.

    "faithful" is the study's code, which does not square them: its "squared" map is uniform. Squaring does not change
    the order of features, but it changes sums over patches.
    """

    form: Literal["faithful", "corrected"] = "corrected"  # not squared (the study's code), or squared

    paper: ClassVar[str] = "Zabička et al., Benchmarking the Attribution Quality of Vision Models: a reproduction"
    control: ClassVar[bool] = True  # knows nothing about the model

    def __call__(self, query: Query) -> Tensor:
        values = query.draws("map").uniform(*query.setting.features.shape).to(query.x)
        return values.square() if self.form == "corrected" else values
