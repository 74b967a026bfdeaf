"""The positive part of another method's attributions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from assay.core.protocols import Method
from assay.core.query import Query
from assay.methods.gradient import Gradient


@dataclass(frozen=True)
class Positive:
    """Another method's attribution where it is positive, 0 elsewhere."""

    of: Method = Gradient()  # the inner method

    positive_only: ClassVar[bool] = True

    @property
    def fit(self) -> Callable[[Query], dict[str, Tensor]]:
        """The inner method's; absent if it has none."""
        return self.of.fit  # type: ignore[attr-defined,no-any-return]

    def __call__(self, query: Query) -> Tensor:
        return self.of(query).clamp(min=0)
