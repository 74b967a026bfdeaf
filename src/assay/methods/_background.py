"""A background: reference rows that are used instead of the question's baseline."""

from __future__ import annotations

import torch
from torch import Tensor

from assay.core.errors import NotApplicable
from assay.core.query import Query


def background(query: Query, count: int) -> dict[str, Tensor]:
    """``count`` of the reference rows, drawn without repetition, as the result of a method's ``fit``."""
    if len(query.x) < count:
        raise NotApplicable(f"needs {count} reference rows, and there are {len(query.x)}")
    order = torch.randperm(len(query.x), generator=query.generator("background"))
    return {"background": query.x[order[:count].to(query.x.device)]}


def change(query: Query) -> Tensor:
    """score(x) - score(baseline), or score(x) - mean score of the background if there is one: (B,)."""
    if "background" not in query.fitted:
        return query.change()
    return query.score(query.x) - query.outputs(query.fitted["background"]).mean(dim=0)[query.target]
