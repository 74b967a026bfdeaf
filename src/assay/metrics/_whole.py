"""Truth of zeros and ones, met in the order of attribution."""

from __future__ import annotations

import torch
from torch import Tensor

from assay.core.errors import NotApplicable
from assay.core.trial import Trial
from assay.kit.curves import found_share
from assay.metrics._order import ordered


def whole(trial: Trial) -> Tensor:
    """The truth (B, P), if it is of zeros and ones."""
    true = trial.effect.flatten(1)
    if not bool(((true == 0) | (true == 1)).all()):
        raise NotApplicable("needs a truth of zeros and ones")
    return true


def met(trial: Trial, absolute: bool, ties: str) -> tuple[Tensor, Tensor, Tensor]:
    """The share (B, P + 1) of true features met, the share (P + 1,) of features gone through, where this is defined."""
    true = whole(trial)
    share = found_share(true.gather(1, ordered(trial, absolute, ties)))
    gone = torch.arange(share.shape[1]).to(share) / (share.shape[1] - 1)
    return share, gone, true.any(dim=1)
