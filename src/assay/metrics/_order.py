"""Features in the order of their attribution, and what the model says while they are exchanged one after the other."""

from __future__ import annotations

import torch
from torch import Tensor

from assay.core.evidence import Evidence
from assay.core.query import Query
from assay.core.trial import Trial
from assay.kit.curves import area
from assay.kit.masks import among_first
from assay.kit.ranks import descending, places
from assay.metrics._rows import rows


def ordered(trial: Trial, absolute: bool, ties: str) -> Tensor:
    """Features (B, P), highest attribution first; random ties are each sample's own and the same for all methods."""
    values = trial.map.flatten(1)
    shuffle = None
    if ties == "random":
        shuffle = trial.scene.draws("ties").permutations(values.shape[1]).to(values.device)
    return descending(values.abs() if absolute else values, shuffle)


def exchange(query: Query, order: Tensor, counts: Tensor, before: Tensor, after: Tensor) -> Tensor:
    """Scores (B, K) on the way from ``before`` to ``after``, with the first ``counts`` (K,) features exchanged."""
    features = query.setting.features
    place, counts = places(order).view(-1, *features.shape), counts.to(order.device)

    def points(part: slice) -> Tensor:
        return torch.where(features.expand(among_first(place, counts[part])), after, before)

    return query.score_each(len(counts), points).T


def area_rows(curve: Tensor, counts: Tensor) -> Evidence:
    """The area under each curve (B, K), drawn over the share of features.

    Undefined where the model has no finite answer, as a model that divides by its input's norm on a blank canvas.
    """
    defined = curve.isfinite().all(dim=1)
    curve, share = curve.double().where(defined[:, None], 0.0), counts.to(curve.device).double() / counts[-1]
    return rows(share, value=area(curve, share), defined=defined, curve=curve)
