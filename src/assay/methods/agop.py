"""AGOP-IxG (Katakam, 2026): input times gradient, seen through the average gradient outer product."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.query import Query

GROUP = 2**22  # numbers of the gradients that are held in double precision at once


@dataclass(frozen=True)
class Agop:
    """|M g| * |x - mean|, divided by its sum: directions along which the model is steep everywhere count more.

    g is the gradient of the explained number; M the mean of g g^T over the reference rows, uncentred, without
    eigenvalues below ``threshold`` of the largest. With L = V sqrt(eigenvalues), M = L L^T is never built again: M g is
    L (L^T g). With fewer reference rows than entries, M is not built at all: its eigenvectors follow from those of the
    rows' products. Never negative; all zero where the gradient or x - mean is.

    Ablations: ``threshold=0`` truncates nothing. ``diagonal`` weighs the gradient by sqrt(diag M / max diag M) instead:
    the companion paper's form for images. ``inverse`` is the natural gradient that the paper sets itself apart from:
    the kept directions are divided by eigenvalue + damping instead (the damping is ours).
    """

    threshold: float = 0.01  # share of the largest eigenvalue below which directions are dropped
    form: Literal["factor", "diagonal", "inverse"] = "factor"  # the whole matrix, its diagonal, or its inverse
    damping: float = 0.0  # inverse: share of the largest eigenvalue that is added to all
    limit: int = 2048  # entries per sample or reference rows, whichever are fewer, up to which eigenvectors are sought

    paper: ClassVar[str] = "Katakam, 2026"
    positive_only: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 <= self.threshold < 1:
            raise SpecError(f"agop: threshold is a share of the largest eigenvalue, so it cannot be {self.threshold}.")
        if self.damping < 0 or (self.damping and self.form != "inverse"):
            raise SpecError(f"agop: damping={self.damping} is no choice. It is 0 or more, and 0 unless form='inverse'.")

    def fit(self, query: Query) -> dict[str, Tensor]:
        mean = query.x.flatten(1).mean(dim=0, dtype=torch.float64)
        if self.form == "diagonal":
            return {"mean": mean, "diagonal": _diagonal(query)}
        values, vectors = self._directions(query)
        if self.form == "inverse":
            values = 1 / (values + self.damping * values.max()) if len(values) else values
        return {"mean": mean, "factor": vectors * values.sqrt()}

    def __call__(self, query: Query) -> Tensor:
        gradient = query.gradient(query.x).flatten(1).double()
        if self.form == "diagonal":
            lifted = gradient * query.fitted["diagonal"]
        else:
            lifted = gradient @ query.fitted["factor"] @ query.fitted["factor"].T
        weight = (lifted * (query.x.flatten(1) - query.fitted["mean"])).abs()
        total = weight.sum(dim=1, keepdim=True)
        return torch.where(total > 0, weight / total, 0).to(query.x.dtype).reshape(query.x.shape)

    def _directions(self, query: Query) -> tuple[Tensor, Tensor]:
        """The kept eigenvalues of M, and their eigenvectors (entries, kept)."""
        rows, entries = len(query.x), query.x[0].numel()
        if min(rows, entries) > self.limit:
            raise NotApplicable(
                f"needs at most {self.limit} entries per sample or as few reference rows, because it seeks "
                f"eigenvectors, and there are {entries} and {rows} (the diagonal form takes any number)"
            )
        if entries <= rows:
            outer = sum((part.T @ part for part in _gradients(query)), torch.zeros((), dtype=torch.float64))
            return self._kept(outer / rows, entries)
        gradients = query.gradient(query.x).flatten(1)  # as large as the reference rows themselves
        parts = gradients.split(max(1, GROUP // rows), dim=1)
        inner = sum((part @ part.T for part in map(Tensor.double, parts)), torch.zeros((), dtype=torch.float64))
        values, mixes = self._kept(inner / rows, entries)
        return values, torch.cat([part.T.double() @ (mixes / (rows * values).sqrt()) for part in parts])

    def _kept(self, matrix: Tensor, entries: int) -> tuple[Tensor, Tensor]:
        """Eigenvalues above the threshold, and above rounding, with their eigenvectors."""
        values, vectors = torch.linalg.eigh(matrix)
        share = max(self.threshold, entries * torch.finfo(values.dtype).eps)
        keep = values > share * values.max().clamp(min=0)
        return values[keep], vectors[:, keep]


def _gradients(query: Query) -> Iterator[Tensor]:
    """The reference rows' gradients, as many at a time as fit the memory budget."""
    for block in query.blocks():
        yield block.gradient(block.x).flatten(1).double()


def _diagonal(query: Query) -> Tensor:
    squares = sum((part.square().sum(dim=0) for part in _gradients(query)), torch.zeros((), dtype=torch.float64))
    return (squares / squares.max().clamp(min=torch.finfo(squares.dtype).tiny)).sqrt()
