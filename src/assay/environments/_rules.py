"""The score functions of ``tabular_rule``: linear, sparse in eight forms, and products of pairs (Katakam, 2026).

Reconstructed: the paper's formulas are lost. Number ranges and scales were chosen so that trained networks reach the
reported accuracies; the forms of the sparse task are the guesses that were tried. ``B`` was kept because its results
resemble the paper's most, so that these are no independent support of the paper.

A score is a sum over features (linear, sparse) or over pairs of features (interaction). Each class of the nonlinear
tasks reads two or three features; all others have no effect on its score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Generator, Tensor

Scores = tuple[Tensor, Tensor, Tensor]  # of three classes


def linear(x: Tensor, weights: Tensor) -> Tensor:
    """``s_c = sum_j W[c, j] x_j`` over the informative features; ``weights`` is (classes, informative)."""
    return x @ weights.T


def linear_weights(classes: int, informative: int, random: Generator) -> Tensor:
    """(classes, informative): a random sign times U(0.5, 2)."""
    sign, size = torch.rand(2, classes, informative, generator=random).unbind()
    return (0.5 + 1.5 * size).where(sign < 0.5, -0.5 - 1.5 * size)


def interaction(x: Tensor, classes: int) -> Tensor:
    """``s_c = 2 x_i x_j``, a pair of features for each class; with more features, a sum over as many pairs each."""
    pairs = x.unflatten(-1, (classes, -1, 2))
    products: Tensor = pairs[..., 0] * pairs[..., 1]
    return 2 * products.sum(dim=-1)


def form_a(x0: Tensor, x1: Tensor, x2: Tensor, x3: Tensor, x4: Tensor, x5: Tensor) -> Scores:
    return torch.sin(x0) + x1**2, torch.tanh(x2) + x3.abs(), torch.exp(-(x4**2)) + x5


def form_b_unscaled(x0: Tensor, x1: Tensor, x2: Tensor, x3: Tensor, x4: Tensor) -> Scores:
    return 2 * torch.sin(x0) + x1**2 - 1, 2 * torch.tanh(x2) + x3.abs(), x4 + torch.sin(2 * x0)


def form_b(x0: Tensor, x1: Tensor, x2: Tensor, x3: Tensor, x4: Tensor) -> Scores:
    """``3 sin x0 + 1.5 (x1^2 - 1); 3 tanh x2 + 1.5 |x3|; 1.5 x4 + 1.5 sin 2 x0``."""
    first, second, third = form_b_unscaled(x0, x1, x2, x3, x4)
    return 1.5 * first, 1.5 * second, 1.5 * third


def form_c(x0: Tensor, x1: Tensor, x2: Tensor, x3: Tensor, x4: Tensor) -> Scores:
    return torch.sin(x0) + x1**2 - x2, torch.tanh(2 * x2) + x3 + x4, x3.abs() - x0 + x4**2 - 1


def form_f(x0: Tensor, x1: Tensor, x2: Tensor, x3: Tensor, x4: Tensor) -> Scores:
    """The first class, and its cyclic analogues. Our reading of these: the next class begins where the last ended, and
    after feature 4 comes feature 0."""

    def score(u: Tensor, v: Tensor, w: Tensor) -> Tensor:
        return u**2 - v.abs() + torch.sin(2 * w)

    return score(x0, x1, x2), score(x2, x3, x4), score(x4, x0, x1)


def form_h(x0: Tensor, x1: Tensor, x2: Tensor, x3: Tensor, x4: Tensor) -> Scores:
    """Cyclic as form F is."""

    def score(u: Tensor, v: Tensor, w: Tensor) -> Tensor:
        return u**2 - v + torch.sin(2 * w) - 1

    return score(x0, x1, x2), score(x2, x3, x4), score(x4, x0, x1)


def form_i(x0: Tensor, x1: Tensor, x2: Tensor, x3: Tensor, x4: Tensor) -> Scores:
    return (
        2 * torch.sin(x0) + x1**2 - 1 - x2.abs(),
        2 * torch.tanh(x2) + x3.abs() - x4,
        x4**2 - 1 + torch.sin(2 * x0) + x3,
    )


def three_copies(x0: Tensor, x1: Tensor, x2: Tensor, x3: Tensor, x4: Tensor, x5: Tensor) -> Scores:
    """The same function of two features for each class."""

    def score(u: Tensor, v: Tensor) -> Tensor:
        return torch.sin(2 * u) + v**2 - 1

    return score(x0, x1), score(x2, x3), score(x4, x5)


@dataclass(frozen=True)
class Form:
    """A form of the sparse task."""

    scores: Callable[..., Scores]
    features: int  # how many it reads

    def __call__(self, x: Tensor) -> Tensor:
        """x (..., features) -> (..., 3)."""
        return torch.stack(self.scores(*x.unbind(dim=-1)), dim=-1)


FORMS: Mapping[str, Form] = {
    "A": Form(form_a, 6),
    "B": Form(form_b, 5),
    "B_unscaled": Form(form_b_unscaled, 5),
    "C": Form(form_c, 5),
    "F": Form(form_f, 5),
    "H": Form(form_h, 5),
    "I": Form(form_i, 5),
    "three_copies": Form(three_copies, 6),
}


@dataclass(frozen=True)
class Rule:
    """The scores of a task."""

    task: Literal["linear", "sparse", "interaction"]
    form: str  # of the sparse task
    classes: int
    informative: int | None  # how many columns were asked for

    @property
    def columns(self) -> int:
        """How many columns it reads: the first ones."""
        if self.task == "sparse":
            return FORMS[self.form].features
        default = 5 if self.task == "linear" else 2 * self.classes
        return default if self.informative is None else self.informative

    def scores(self, x: Tensor, weights: Tensor) -> Tensor:
        """x (..., d) -> (..., classes); ``weights`` are those of the linear rule."""
        columns = x[..., : self.columns]
        match self.task:
            case "linear":
                return linear(columns, weights.to(x))
            case "sparse":
                return FORMS[self.form](columns)
            case "interaction":
                return interaction(columns, self.classes)

    def problems(self, d: int) -> Iterator[str]:
        """Why this rule is not possible with d columns, one sentence each."""
        if self.classes < 2:
            yield f"classes={self.classes} must be at least 2"
        if self.task != "sparse" and self.form != "B":
            yield f"form='{self.form}' is one of the sparse rule: write task='sparse'"
        if self.task == "sparse" and self.classes != 3:
            yield f"the sparse rule has 3 classes, not classes={self.classes}"
        if self.task == "sparse" and self.informative not in (None, self.columns):
            yield f"form {self.form} reads {self.columns} columns, not informative={self.informative}: leave it out"
        if self.task == "interaction" and self.columns % (2 * self.classes):
            yield (
                f"the interaction rule reads pairs of columns, as many for each of {self.classes} classes, so "
                f"informative={self.informative} must be a multiple of {2 * self.classes}"
            )
        if not 1 <= self.columns <= d:
            yield f"informative={self.columns} must be between 1 and d={d}"
