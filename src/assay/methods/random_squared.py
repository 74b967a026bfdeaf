"""A map that knows nothing, squared: many small numbers and a few large ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import Tensor

from assay.core.query import Query


@dataclass(frozen=True)
class RandomSquared:
    """Squares of numbers drawn uniformly from [0, 1), one per feature.

    "faithful" is the study's code, which never squares them: what it calls squared is a uniform map. Squaring does not
    change the order of features, only what sums over patches weigh.
    """

    form: Literal["faithful", "corrected"] = "corrected"  # not squared (the study's code), or squared

    paper: ClassVar[str] = "Zabička et al., Benchmarking the Attribution Quality of Vision Models: a reproduction"
    control: ClassVar[bool] = True  # knows nothing about the model

    def __call__(self, query: Query) -> Tensor:
        drawn = query.draws("map").uniform(*query.setting.features.shape).to(query.x)
        return drawn.square() if self.form == "corrected" else drawn
