"""What is known about a model before it has seen a row: it helps to read the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from assay.users.boosted import booster, is_booster
from assay.users.hugging_face import unpacked
from assay.users.passing import number_format, parameters


@dataclass(frozen=True)
class Known:
    """Facts about a model."""

    dtype: torch.dtype | None = None  # of its parameters
    columns: tuple[str, ...] = ()  # on which it was fitted, in its order; empty: it does not say
    inputs: tuple[str, ...] = ()  # the names of its forward's parameters
    tokens: bool = False  # whether whole numbers may be token ids: it has a table of embeddings
    tensors: bool = False  # whether it reads tensors


def known(model: Any) -> Known:
    """The facts about a model, an estimator or a function."""
    model, tokenizer = unpacked(model)
    if isinstance(model, nn.Module):
        has_table = any(isinstance(part, nn.Embedding | nn.EmbeddingBag) for part in model.modules())
        return Known(number_format(model), (), parameters(model.forward), has_table and tokenizer is None, True)
    estimator = booster(model) if is_booster(model) else model
    names = getattr(estimator, "feature_names_in_", None)
    return Known(columns=() if names is None else tuple(map(str, names)))
