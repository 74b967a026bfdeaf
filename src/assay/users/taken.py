"""A user's model, taken: a module that reads entries and answers with outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from torch import nn

Outputs: TypeAlias = Literal["logits", "probabilities", "value"]


@dataclass(frozen=True, eq=False)
class Taken:
    """Whatever the user gave, as a module of floats: entries (N, *entries) -> (N, outputs)."""

    module: nn.Module
    outputs: Outputs
    count: int  # of outputs
    classes: tuple[str, ...] = ()  # names of the outputs, where the model knows them
    notes: tuple[str, ...] = ()  # sentences about what was chosen: which output, how rows are passed
