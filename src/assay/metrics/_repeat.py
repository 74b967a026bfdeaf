"""A method's further answers in the shape of its first."""

from __future__ import annotations

from torch import Tensor

from assay.core.trial import Trial, per_feature


def comparable_maps(trial: Trial, *answers: Tensor) -> list[Tensor]:
    """The attribution (B, N), and answers (K * B, ...) as (K, B, N): per entry, or per feature if shapes differ."""
    if all(answer.shape[1:] == trial.attribution.shape[1:] for answer in answers):
        maps = [trial.attribution, *answers]
    else:
        maps = [per_feature(map_, trial.scene.setting.features) for map_ in (trial.attribution, *answers)]
    first, *others = [map_.double().flatten(1) for map_ in maps]
    return [first, *(other.view(-1, *first.shape) for other in others)]
