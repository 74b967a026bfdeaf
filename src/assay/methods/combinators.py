"""Another method's attributions: absolute, positive, or summed to one number per feature."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from assay.core.protocols import Method, positive_only
from assay.core.query import Query
from assay.core.trial import per_feature
from assay.methods.gradient import Gradient


@dataclass(frozen=True)
class Absolute:
    """Absolute values of another method's attribution, entry by entry.

    ``pooled(of=absolute(of=m))`` is the sum of a feature's absolute values, ``absolute(of=pooled(of=m))`` the absolute
    value of their sum.
    """

    of: Method = Gradient()  # the inner method

    positive_only: ClassVar[bool] = True

    @property
    def fit(self) -> Callable[[Query], dict[str, Tensor]]:
        """The inner method's; absent if it has none."""
        return self.of.fit  # type: ignore[attr-defined,no-any-return]

    def __call__(self, query: Query) -> Tensor:
        return self.of(query).abs()


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
