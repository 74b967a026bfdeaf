"""A method's answers, side by side with its first."""

from __future__ import annotations

from torch import Tensor

from assay.core.trial import Trial, per_feature


def beside(trial: Trial, *answers: Tensor) -> list[Tensor]:
    """The attribution (B, N) and answers (K * B, ...) as (K, B, N): entry by entry; by feature where shapes differ."""
    if all(answer.shape[1:] == trial.attribution.shape[1:] for answer in answers):
        found = [trial.attribution, *answers]
    else:
        found = [per_feature(each, trial.scene.setting.features) for each in (trial.attribution, *answers)]
    first, *others = [each.double().flatten(1) for each in found]
    return [first, *(other.view(-1, *first.shape) for other in others)]
