"""Environments around other environments: the weights of each part, and its rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from torch import Tensor

from assay.core.errors import SpecError
from assay.core.protocols import Environment, Trained
from assay.core.setting import Reference, Setting


@runtime_checkable
class Offering(Protocol):
    """An environment that has more training rows than it keeps for reference."""

    def training_rows(self, seed: int) -> Reference: ...


def trained(environment: Environment, seed: int) -> dict[str, Tensor]:
    """The weights of an environment's model; none where it is not trained."""
    return environment.train(seed) if isinstance(environment, Trained) else {}


def named(part: str, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of one part, told from those of other parts by the name in front."""
    return {f"{part}.{name}": tensor for name, tensor in weights.items()}


def of_part(part: str, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of one part, as the part knows them."""
    before = f"{part}."
    return {name.removeprefix(before): tensor for name, tensor in weights.items() if name.startswith(before)}


def training_rows(environment: Environment, setting: Setting, seed: int) -> Reference:
    """All training rows that an environment offers, or the one inside of it; or else its reference rows."""
    inner = environment
    while getattr(inner, "wraps", False) and hasattr(inner, "of"):
        inner = inner.of
    rows = inner.training_rows(seed) if isinstance(inner, Offering) else setting.reference
    if rows is None:
        raise SpecError(
            f"in_domain: {type(environment).__name__} has no training rows to fine-tune on. "
            "Where an environment has a parameter 'reference', ask it for some."
        )
    return rows
