"""AGOP-IxG (Katakam, 2026): input times gradient, seen through the average gradient outer product."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.query import Query


@dataclass(frozen=True)
class Agop:
    """|M g| * |x - mean|, divided by its sum: directions along which the model is steep everywhere count more.

    g is the gradient of the explained number; M the mean of g g^T over the reference rows, uncentred, without
    eigenvalues below ``threshold`` of the largest. With L = V sqrt(eigenvalues), M = L L^T is never built again: M g is
    L (L^T g). Never negative; all zero where the gradient or x - mean is. ``diagonal`` weighs the gradient by
    sqrt(diag M / max diag M) instead: the companion paper's form for images, and an ablation.
    """

    threshold: float = 0.01  # share of the largest eigenvalue below which directions are dropped
    form: Literal["factor", "diagonal"] = "factor"  # the whole matrix, or its diagonal
    limit: int = 2048  # entries per sample up to which the whole matrix is made

    paper: ClassVar[str] = "Katakam, 2026"

    def __post_init__(self) -> None:
        if not 0 <= self.threshold < 1:
            raise SpecError(f"agop: threshold is a share of the largest eigenvalue, so it cannot be {self.threshold}.")

    def fit(self, query: Query) -> dict[str, Tensor]:
        entries = query.x[0].numel()
        if self.form == "factor" and entries > self.limit:
            raise NotApplicable(
                f"needs at most {self.limit} entries per sample for its matrix of all pairs, and there are {entries}"
            )
        gradients = query.gradient(query.x).flatten(1).double()
        mean = query.x.flatten(1).double().mean(dim=0)
        return {"mean": mean, self.form: self._factor(gradients) if self.form == "factor" else _diagonal(gradients)}

    def __call__(self, query: Query) -> Tensor:
        gradient = query.gradient(query.x).flatten(1).double()
        fitted = query.fitted[self.form]
        lifted = gradient @ fitted @ fitted.T if self.form == "factor" else gradient * fitted
        weight = (lifted * (query.x.flatten(1) - query.fitted["mean"])).abs()
        total = weight.sum(dim=1, keepdim=True)
        return torch.where(total > 0, weight / total, 0).to(query.x.dtype).reshape(query.x.shape)

    def _factor(self, gradients: Tensor) -> Tensor:
        """L (entries, kept directions)."""
        values, vectors = torch.linalg.eigh(gradients.T @ gradients / len(gradients))
        keep = values > self.threshold * values.max().clamp(min=0)
        factor: Tensor = vectors[:, keep] * values[keep].sqrt()
        return factor


def _diagonal(gradients: Tensor) -> Tensor:
    squares = gradients.square().mean(dim=0)
    return (squares / squares.max().clamp(min=torch.finfo(squares.dtype).tiny)).sqrt()
