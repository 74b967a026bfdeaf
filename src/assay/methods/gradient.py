"""The gradient (Simonyan et al., 2014), and input times gradient (Shrikumar et al., 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from assay.core.query import Query


@dataclass(frozen=True)
class Gradient:
    """The explained number's gradient at the input, with its sign: how fast the number would change.

    Its absolute value, often called saliency, is ``absolute(of=gradient)``.
    """

    paper: ClassVar[str] = "Simonyan et al., 2014"

    def __call__(self, query: Query) -> Tensor:
        return query.gradient(query.x)


@dataclass(frozen=True)
class InputXGradient:
    """The input times its gradient: what each entry contributes if the model is linear without bias.

    It does not use the question's baseline.
    """

    paper: ClassVar[str] = "Shrikumar et al., 2016"

    def __call__(self, query: Query) -> Tensor:
        return query.x * query.gradient(query.x)
