"""Another method's map, degraded: some of its attributions are shuffled (Zheng et al., 2025)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

from torch import Tensor

from assay.core.errors import SpecError
from assay.core.protocols import Method, positive_only
from assay.core.query import Query, Remarks
from assay.core.trial import per_feature
from assay.kit.curves import counts_of_shares
from assay.methods.gradient import Gradient


@dataclass(frozen=True)
class Shuffled:
    """Another method's attributions per feature, those of a share of the features permuted among themselves.

    Share 0 is the map, 1 its numbers in a random order: a metric must rank the maps between by their share. Each sample
    draws features and permutation on its own; a feature may keep its attribution by chance. A share is rounded down to
    whole features. A larger share permutes the features of a smaller one and others (ours). The inner method draws the
    same numbers whatever the share, so that all shares are of one map.
    """

    of: Method = Gradient()  # the inner method
    share: float = 0.3  # of the features, whose attributions are permuted

    paper: ClassVar[str] = "F-Fidelity (Zheng et al., 2025), the degraded explainers of its experiments"

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise SpecError(f"shuffled: share={self.share} must be from 0 to 1.")

    @property
    def fit(self) -> Callable[[Query], dict[str, Tensor]]:
        """The inner method's; absent if it has none."""
        fit: Callable[[Query], dict[str, Tensor]] = self.of.fit  # type: ignore[attr-defined]
        return lambda query: fit(self._inner(query))

    @property
    def positive_only(self) -> bool:
        """As for the inner method: its sums per feature change places."""
        return positive_only(self.of)

    def _inner(self, query: Query) -> Query:
        """The query with random numbers that do not depend on the share. Of the inner method's remarks only the notes
        are about the shuffled map, too."""
        stream = replace(query.stream, component=f"shuffled {type(self.of).__name__}")
        return replace(query, stream=stream, remarks=Remarks(query.remarks.notes))

    def __call__(self, query: Query) -> Tensor:
        inner, features = self._inner(query), query.setting.features
        values = per_feature(self.of(inner), features).flatten(1)
        count = int(counts_of_shares(values.shape[1], [self.share]))
        chosen = inner.draws("shuffled features").permutations(values.shape[1])[:, :count].to(values.device)
        source = chosen.gather(1, inner.draws("shuffled values").permutations(count).to(values.device))
        return values.scatter(1, chosen, values.gather(1, source)).view(-1, *features.shape)
