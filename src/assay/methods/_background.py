"""A background: reference rows that take the place of the question's baseline."""

from __future__ import annotations

import torch
from torch import Tensor

from assay.core.errors import NotApplicable
from assay.core.query import Query


def background(query: Query, count: int) -> dict[str, Tensor]:
    """So many of the reference rows, without repetition, as what a method's ``fit`` finds."""
    if len(query.x) < count:
        raise NotApplicable(f"needs {count} reference rows, and there are {len(query.x)}")
    order = torch.randperm(len(query.x), generator=query.generator("background"))
    return {"background": query.x[order[:count].to(query.x.device)]}


def change(query: Query) -> Tensor:
    """score(x) - score(baseline), or minus the mean over the background where one was drawn (B,)."""
    if "background" not in query.fitted:
        return query.change()
    return query.score(query.x) - query.outputs(query.fitted["background"]).mean(dim=0)[query.target]
