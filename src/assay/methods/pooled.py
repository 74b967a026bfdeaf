"""Another method's attributions, summed to one number per feature."""

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
    """Another method's attribution, summed over each feature's entries: the channels of a pixel, a one-hot block."""

    of: Method = Gradient()  # the inner method

    @property
    def fit(self) -> Callable[[Query], dict[str, Tensor]]:
        """The inner method's; absent if it has none."""
        return self.of.fit  # type: ignore[attr-defined,no-any-return]

    @property
    def promised(self) -> Callable[[Query], Tensor]:
        """The inner method's; absent if it has none."""
        return self.of.promised  # type: ignore[attr-defined,no-any-return]

    @property
    def remedy(self) -> str:
        """The inner method's."""
        return getattr(self.of, "remedy", "")

    @property
    def positive_only(self) -> bool:
        """As for the inner method: a sum of non-negative numbers is not negative."""
        return positive_only(self.of)

    def __call__(self, query: Query) -> Tensor:
        return per_feature(self.of(query), query.setting.features)
