"""Another method's attributions of the first rows only, where all rows would take too long."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from assay.core.errors import SpecError
from assay.core.protocols import Method, positive_only
from assay.core.query import Query
from assay.core.trial import per_feature
from assay.methods.gradient import Gradient


@dataclass(frozen=True)
class FirstRows:
    """Another method's attribution of samples whose number is below ``rows``; 0 for all other samples.

    For metrics that average attributions of reference rows into one ranking, as ``roar(ranking='global')`` does: rows
    of zeros change no ranking. Katakam (2026) ranks by LIME on 500 training rows. Metrics that judge every sample by
    itself need the inner method.
    """

    of: Method = Gradient()  # the inner method
    rows: int = 500  # samples, or reference rows, that it attributes

    def __post_init__(self) -> None:
        if self.rows < 1:
            raise SpecError(f"first_rows: rows={self.rows} must be at least 1.")

    @property
    def fit(self) -> Callable[[Query], dict[str, Tensor]]:
        """The inner method's, on all reference rows; absent if it has none."""
        return self.of.fit  # type: ignore[attr-defined,no-any-return]

    @property
    def positive_only(self) -> bool:
        """As for the inner method."""
        return positive_only(self.of)

    def __call__(self, query: Query) -> Tensor:
        first = torch.tensor([index < self.rows for index in query.indices])
        attribution = query.x.new_zeros(len(query.x), *query.setting.features.shape)
        if bool(first.any()):
            answer = self.of(query.take(first.nonzero()[:, 0]))
            attribution[first] = per_feature(answer, query.setting.features).to(attribution)
        if not bool(first.all()):
            query.note("not attributed, hence 0", int((~first).sum()))
        return attribution
