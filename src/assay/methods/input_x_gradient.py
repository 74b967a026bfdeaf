"""Input times gradient (Shrikumar et al., 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from assay.core.query import Query


@dataclass(frozen=True)
class InputXGradient:
    """The input times its gradient: what each entry contributes if the model is linear without bias.

    It does not use the question's baseline.
    """

    paper: ClassVar[str] = "Shrikumar et al., 2016"

    def __call__(self, query: Query) -> Tensor:
        return query.x * query.gradient(query.x)
