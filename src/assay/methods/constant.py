"""A constant attribution: what a metric gives for no information and for ties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from assay.core.query import Query


@dataclass(frozen=True)
class Constant:
    """1 for every feature."""

    control: ClassVar[bool] = True  # knows nothing about the model

    def __call__(self, query: Query) -> Tensor:
        return query.x.new_ones(len(query.x), *query.setting.features.shape)
