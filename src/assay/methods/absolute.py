"""The size of another method's attributions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from assay.core.protocols import Method
from assay.core.query import Query
from assay.methods.gradient import Gradient


@dataclass(frozen=True)
class Absolute:
    """Another method's attribution without signs, entry by entry.

    ``pooled(of=absolute(of=m))`` adds up sizes per feature, ``absolute(of=pooled(of=m))`` takes the size of the sum.
    """

    of: Method = Gradient()  # the method

    positive_only: ClassVar[bool] = True

    @property
    def fit(self) -> Callable[[Query], dict[str, Tensor]]:
        """The inner method's, absent where it has none."""
        return self.of.fit  # type: ignore[attr-defined,no-any-return]

    def __call__(self, query: Query) -> Tensor:
        return self.of(query).abs()
