"""Calls of foreign methods: random numbers that belong to the block, and answers as tensors."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import torch
from torch import nn

from assay.core.query import Query
from assay.core.rng import global_streams_seeded


def seeded_streams(query: Query) -> AbstractContextManager[None]:
    """Seeds the global random streams, so that a block always gets the same random numbers."""
    return global_streams_seeded(*query.stream.within("global", query.indices[0]).key)


def explained_model(query: Query) -> nn.Module:
    """The module that others get: the user's model where the explained number is its output, since some of them read
    its layers and know no rule for modules that do nothing; else with the readout."""
    is_output = isinstance(query.module.get_submodule("readout"), nn.Identity) and query.setting.differentiable
    return query.setting.model if is_output else query.module


def as_tensor(result: Any, query: Query) -> Any:
    """Arrays become tensors; any other result is left to ``check_attribution``, which says what is wrong."""
    if isinstance(result, np.ndarray):
        copy = np.array(result, dtype=result.dtype.newbyteorder("="))  # contiguous, in this machine's byte order
        return torch.from_numpy(copy).to(query.x.device)
    return result
