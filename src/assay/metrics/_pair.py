"""What a map says and what is true, feature by feature."""

from __future__ import annotations

from torch import Tensor

from assay.core.errors import NotApplicable
from assay.core.trial import Trial


def pair(trial: Trial, absolute: bool) -> tuple[Tensor, Tensor]:
    """Attribution and effect (B, P) as they are, or their sizes."""
    claimed, true = trial.map.flatten(1), trial.effect.flatten(1)
    return (claimed.abs(), true.abs()) if absolute else (claimed, true)


def some(chosen: Tensor) -> Tensor:
    """Samples (B,) in which some features are chosen (B, P), but not all: there is something to tell apart."""
    return chosen.any(dim=1) & ~chosen.all(dim=1)


def whole(trial: Trial) -> Tensor:
    """The truth (B, P), if it is of zeros and ones."""
    true = trial.effect.flatten(1)
    if not bool(((true == 0) | (true == 1)).all()):
        raise NotApplicable("needs a truth of zeros and ones")
    return true
