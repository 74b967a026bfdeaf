"""A random map: the floor that every method must exceed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from assay.core.query import Query


@dataclass(frozen=True)
class RandomMap:
    """Numbers drawn uniformly from [0, 1), one per feature.

    A sample gets the same map in every block.
    """

    control: ClassVar[bool] = True  # knows nothing about the model

    def __call__(self, query: Query) -> Tensor:
        return query.draws("map").uniform(*query.setting.features.shape).to(query.x)
