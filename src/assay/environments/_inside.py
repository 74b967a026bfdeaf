"""Helpers of environments that wrap other environments: weights of each part, and training rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from torch import Tensor

from assay.core.errors import SpecError
from assay.core.protocols import Environment, Trained
from assay.core.setting import Reference, Setting


@runtime_checkable
class Offering(Protocol):
    """An environment with more training rows than its reference rows."""

    def training_rows(self, seed: int) -> Reference: ...


def trained(environment: Environment, seed: int) -> dict[str, Tensor]:
    """Train an environment's model and return its weights; empty if the model is not trained."""
    return environment.train(seed) if isinstance(environment, Trained) else {}


def prefixed(part: str, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of one part, with the part's name in front of theirs."""
    return {f"{part}.{name}": tensor for name, tensor in weights.items()}


def of_part(part: str, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of one part, without the part's name in front."""
    prefix = f"{part}."
    return {name.removeprefix(prefix): tensor for name, tensor in weights.items() if name.startswith(prefix)}


def training_rows(environment: Environment, setting: Setting, seed: int) -> Reference:
    """All training rows of an environment, or of the innermost one it wraps; reference rows where these offer none."""
    inner = environment
    while getattr(inner, "wraps", False) and hasattr(inner, "of"):
        inner = inner.of
    rows = inner.training_rows(seed) if isinstance(inner, Offering) else setting.reference
    if rows is None:
        raise SpecError(
            f"in_domain: {type(environment).__name__} has no training rows to fine-tune on. "
            "If the environment has a parameter 'reference', set it."
        )
    return rows
