"""Another method's map with attribution taken away, or with attribution added (Li et al., 2024, table 3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import torch
from torch import Tensor

from assay.core.errors import SpecError
from assay.core.protocols import Method
from assay.core.query import Query, Remarks
from assay.core.trial import per_feature
from assay.kit.curves import counts_of_shares
from assay.kit.feature_orders import descending_order, positions
from assay.kit.soft_precision import scaled_by_largest
from assay.methods.gradient import Gradient


@dataclass(frozen=True)
class Damaged:
    """Another method's map, damaged on purpose: a metric that responds to damage tells it from the original.

    First every map is brought to 0..1, as maps were stored: sizes stretched to 0..1, or with ``positive`` what is
    positive over its largest. Change "none" ends here: it is the original that the others are compared with. Metrics
    that stretch maps themselves undo a constant: give soundness and completeness ``transform='clamp'``.

    Schemes: "constant" takes ``size`` from every feature or adds it; "random" takes or adds a number of its own for
    every feature, uniform up to ``size``; results are cut to 0..1. "partial" sets features to 0 whose rank, from the
    smallest to the largest attribution, lies in ``emptied``; or it raises those in ``raised`` to the ``quantile``.
    "half" (ours, for tables) sets half of the features that have attribution to 0; or gives half of those without any
    a number, uniform up to the largest.

    Equal attributions are ranked in a random order of each sample's own. The inner method draws the same numbers
    whatever the change, so that all changes are of one map.
    """

    of: Method = Gradient()  # the inner method
    change: Literal["none", "remove", "introduce"] = "remove"  # attribution is taken away, or added
    scheme: Literal["constant", "random", "partial", "half"] = "constant"  # how
    size: float = 0.6  # of "constant" and "random"; the largest attribution is 1
    emptied: tuple[float, float] = (0.6, 0.8)  # "partial", remove: from which share of the ranks to which
    raised: tuple[float, float] = (0.0, 0.4)  # "partial", introduce
    quantile: float = 0.8  # "partial", introduce: the value that these features get
    transform: Literal["abs", "positive"] = "abs"  # how the map is brought to 0..1

    paper: ClassVar[str] = "A Dual-Perspective Approach (Li et al., 2024), table 3"
    positive_only: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name, (start, stop) in (("emptied", self.emptied), ("raised", self.raised)):
            if not 0 <= start <= stop <= 1:
                raise SpecError(f"damaged: {name}=({start}, {stop}) must be two shares from 0 to 1, ascending.")
        if not 0 <= self.size <= 1 or not 0 <= self.quantile <= 1:
            raise SpecError(f"damaged: size={self.size} and quantile={self.quantile} must be from 0 to 1.")

    @property
    def fit(self) -> Callable[[Query], dict[str, Tensor]]:
        """The inner method's; absent if it has none."""
        fit: Callable[[Query], dict[str, Tensor]] = self.of.fit  # type: ignore[attr-defined]
        return lambda query: fit(self._inner(query))

    def _inner(self, query: Query) -> Query:
        """The query with random numbers that do not depend on the change. Of the inner method's remarks only the notes
        are about the changed map, too."""
        stream = replace(query.stream, component=f"damaged {type(self.of).__name__}")
        return replace(query, stream=stream, remarks=Remarks(query.remarks.notes))

    def __call__(self, query: Query) -> Tensor:
        original = self._original(query)
        if self.change == "none":
            changed = original
        elif self.scheme == "partial":
            changed = self._partial(query, original)
        elif self.scheme == "half":
            changed = self._half(query, original)
        else:
            shift = torch.full_like(original, self.size)
            if self.scheme == "random":
                shift = shift * query.draws("shift").uniform(original.shape[1]).to(original)
            changed = (original + (shift if self.change == "introduce" else -shift)).clamp(0, 1)
        return changed.view(-1, *query.setting.features.shape)

    def _original(self, query: Query) -> Tensor:
        """The inner method's map in 0..1 (B, P)."""
        attribution, features = self.of(self._inner(query)), query.setting.features
        if self.transform == "positive":
            return scaled_by_largest(per_feature(attribution, features).flatten(1).clamp(min=0))
        strength = per_feature(attribution.abs(), features).flatten(1)
        return scaled_by_largest(strength - strength.amin(dim=1, keepdim=True))

    def _partial(self, query: Query, original: Tensor) -> Tensor:
        count = original.shape[1]
        shuffle = query.draws("ties").permutations(count).to(original.device)
        rank = positions(descending_order(-original, shuffle))  # 0 is the smallest
        shares = self.raised if self.change == "introduce" else self.emptied
        start, stop = counts_of_shares(count, shares).tolist()
        chosen = (rank >= start) & (rank < stop)
        if self.change == "remove":
            return original.masked_fill(chosen, 0.0)
        return torch.where(chosen, original.quantile(self.quantile, dim=1, keepdim=True), original)

    def _half(self, query: Query, original: Tensor) -> Tensor:
        """Half of the features with attribution, or of those without: a number of its own decides which."""
        open_to_change = original > 0 if self.change == "remove" else original == 0
        number = query.draws("half").uniform(original.shape[1]).to(original)
        rank = positions(descending_order(number.masked_fill(~open_to_change, -1.0)))
        chosen = rank < open_to_change.sum(dim=1, keepdim=True) // 2
        if self.change == "remove":
            return original.masked_fill(chosen, 0.0)
        return torch.where(chosen, query.draws("introduced").uniform(original.shape[1]).to(original), original)
