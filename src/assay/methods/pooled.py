"""Another method's attributions, one number per feature."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from assay.core.protocols import Method, positive_only
from assay.core.query import Query
from assay.core.trial import per_feature
from assay.methods.gradient import Gradient


@dataclass(frozen=True)
class Pooled:
    """Another method's attribution, added up over each feature's entries: the channels of a pixel, a one-hot block."""

    of: Method = Gradient()  # the method

    @property
    def fit(self) -> Callable[[Query], dict[str, Tensor]]:
        """The inner method's, absent where it has none."""
        return self.of.fit  # type: ignore[attr-defined,no-any-return]

    @property
    def promised(self) -> Callable[[Query], Tensor]:
        """The inner method's, absent where it has none."""
        return self.of.promised  # type: ignore[attr-defined,no-any-return]

    @property
    def remedy(self) -> str:
        """The inner method's."""
        return getattr(self.of, "remedy", "")

    @property
    def positive_only(self) -> bool:
        """As the inner method: a sum of numbers that are not negative is none."""
        return positive_only(self.of)

    def __call__(self, query: Query) -> Tensor:
        return per_feature(self.of(query), query.setting.features)
