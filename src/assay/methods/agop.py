"""AGOP-IxG (Katakam, 2026): input times gradient, weighted by the average gradient outer product."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.query import Query

GROUP = 2**22  # most numbers of the gradients in double precision at once


@dataclass(frozen=True)
class Agop:
    """|M g| * |x - mean|, divided by its sum: directions in which the model is steep on average count more.

    g is the gradient of the explained number. M is the mean of g g^T over the reference rows, uncentred, without
    eigenvalues below ``threshold`` of the largest. With L = V sqrt(eigenvalues), M g is computed as L (L^T g). With
    fewer reference rows than entries, M is never built: its eigenvectors follow from the inner products of the rows'
    gradients. The number of kept directions is noted. Never negative; all zero where the gradient or x - mean is zero.

    Ablations: ``threshold=0`` truncates nothing. ``diagonal`` weighs the gradient by sqrt(diag M / max diag M) instead,
    the companion paper's form for images. ``inverse`` is the natural gradient, which the paper contrasts with its
    method: the kept directions are divided by eigenvalue + damping instead (the damping is ours).
    """

    threshold: float = 0.01  # share of the largest eigenvalue below which directions are dropped
    form: Literal["factor", "diagonal", "inverse"] = "factor"  # the whole matrix, its diagonal, or its inverse
    damping: float = 0.0  # inverse: share of the largest eigenvalue that is added to all
    limit: int = 2048  # most entries per sample or reference rows, whichever are fewer, for computing eigenvectors

    paper: ClassVar[str] = "Katakam, 2026"
    positive_only: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 <= self.threshold < 1:
            raise SpecError(f"agop: threshold is a share of the largest eigenvalue, so it cannot be {self.threshold}.")
        if self.damping < 0 or (self.damping and self.form != "inverse"):
            raise SpecError(
                f"agop: damping={self.damping} is not possible. Choose 0 or more, and 0 unless form='inverse'."
            )

    def fit(self, query: Query) -> dict[str, Tensor]:
        mean = query.x.flatten(1).mean(dim=0, dtype=torch.float64)
        if self.form == "diagonal":
            return {"mean": mean, "diagonal": _diagonal(query)}
        values, vectors = self._directions(query)
        if self.form == "inverse":
            values = 1 / (values + self.damping * values.max()) if len(values) else values
        return {"mean": mean, "factor": vectors * values.sqrt()}

    def __call__(self, query: Query) -> Tensor:
        if "factor" in query.fitted:
            query.note(f"rank {query.fitted['factor'].shape[1]}")
        return weighted(query.gradient(query.x), query.x, query.fitted)

    def _directions(self, query: Query) -> tuple[Tensor, Tensor]:
        """The kept eigenvalues of M, and their eigenvectors (entries, kept)."""
        rows, entries = len(query.x), query.x[0].numel()
        if min(rows, entries) > self.limit:
            raise NotApplicable(
                f"needs at most {self.limit} entries per sample or as few reference rows, because it "
                f"computes eigenvectors, and there are {entries} and {rows} (the diagonal form takes any number)"
            )
        if entries <= rows:
            outer = sum((part.T @ part for part in _gradients(query)), torch.zeros((), dtype=torch.float64))
            return self._eigenpairs(outer / rows, entries)
        gradients = query.gradient(query.x).flatten(1)  # as large as the reference rows themselves
        parts = gradients.split(max(1, GROUP // rows), dim=1)
        inner = sum((part @ part.T for part in map(Tensor.double, parts)), torch.zeros((), dtype=torch.float64))
        values, coefficients = self._eigenpairs(inner / rows, entries)
        return values, torch.cat([part.T.double() @ (coefficients / (rows * values).sqrt()) for part in parts])

    def _eigenpairs(self, matrix: Tensor, entries: int) -> tuple[Tensor, Tensor]:
        """Eigenvalues above the threshold and above rounding errors, with their eigenvectors."""
        values, vectors = torch.linalg.eigh(matrix)
        share = max(self.threshold, entries * torch.finfo(values.dtype).eps)
        keep = values > share * values.max().clamp(min=0)
        return values[keep], vectors[:, keep]


def weighted(gradient: Tensor, x: Tensor, fitted: Mapping[str, Tensor]) -> Tensor:
    """The attribution of ``x`` (in its shape) from its gradient and from what ``fit`` returned; NaN stays NaN."""
    slopes = gradient.flatten(1).double()
    factor = fitted.get("factor")
    product = slopes * fitted["diagonal"] if factor is None else slopes @ factor @ factor.T
    weight = (product * (x.flatten(1) - fitted["mean"])).abs()
    total = weight.sum(dim=1, keepdim=True)
    return torch.where(total == 0, 0, weight / total).to(x.dtype).reshape(x.shape)


def _gradients(query: Query) -> Iterator[Tensor]:
    """Gradients of the reference rows, in blocks that fit the memory budget."""
    for block in query.blocks():
        yield block.gradient(block.x).flatten(1).double()


def _diagonal(query: Query) -> Tensor:
    squares = sum((part.square().sum(dim=0) for part in _gradients(query)), torch.zeros((), dtype=torch.float64))
    return (squares / squares.max().clamp(min=torch.finfo(squares.dtype).tiny)).sqrt()
