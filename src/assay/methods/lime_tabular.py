"""LIME for tables (Ribeiro et al., 2016), as the lime package does it without discretisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.query import Query

GROUP = 2**22  # most numbers in memory at once for sums over perturbed rows


@dataclass(frozen=True)
class LimeTabular:
    """Coefficients of a ridge regression on perturbed rows, weighted by their nearness to the sample.

    LimeTabularExplainer with ``discretize_continuous=False`` and all features. Rows are normal with the mean and
    standard deviation of the reference rows (not centred on the sample); the first row is the sample itself. A row's
    weight is sqrt(exp(-distance^2 / width^2)), in standardised columns. A coefficient is the change of the score per
    standard deviation. Unlike in lime, all samples of a series share the perturbed rows, so that the model evaluates
    them once. Needs no gradients.
    """

    samples: int = 5000  # perturbed rows, including the sample itself
    width: float = 0.75  # of the kernel, times the root of the number of columns
    alpha: float = 1.0  # ridge penalty
    times: Literal["coefficient", "product"] = "coefficient"  # or the coefficient times the standardised value

    paper: ClassVar[str] = "Ribeiro et al., 2016"

    def __post_init__(self) -> None:
        if self.samples < 2 or self.width <= 0 or self.alpha <= 0:
            raise SpecError(
                f"lime_tabular: samples={self.samples}, width={self.width}, alpha={self.alpha} cannot make a "
                "regression. Choose 2 samples or more, a positive width and a positive alpha."
            )

    def fit(self, query: Query) -> dict[str, Tensor]:
        if query.setting.kind != "table":
            raise NotApplicable(f"needs a table, and this is {query.setting.kind} data")
        if query.setting.features.shape != query.x.shape[1:]:
            raise NotApplicable("needs columns of one number each, and some here are blocks of entries")
        rows = query.x.double()
        scale = rows.std(dim=0, correction=0)
        constant = (rows == rows[0]).all(dim=0)  # rounding can make its deviation nonzero
        return {"mean": rows.mean(dim=0), "scale": torch.where(constant, 1, scale)}

    def __call__(self, query: Query) -> Tensor:
        mean, scale = query.fitted["mean"], query.fitted["scale"]
        scaled = (query.x.double() - mean) / scale  # (B, columns)
        noise = torch.randn(self.samples - 1, len(mean), generator=query.generator("rows"), dtype=torch.float64)
        noise = noise.to(query.x.device)
        outputs = query.outputs((noise * scale + mean).to(query.x.dtype))  # (rows, classes)
        scores = outputs.double().T[query.target]  # (B, rows)
        coefficients = self._ridge(scaled, query.score(query.x).double(), noise, scores)
        attribution = coefficients * scaled if self.times == "product" else coefficients
        return attribution.to(query.x.dtype)

    def _ridge(self, scaled: Tensor, score: Tensor, noise: Tensor, scores: Tensor) -> Tensor:
        """Weighted ridge regression of each sample's scores, without penalty on the intercept."""
        rows, first = _with_intercept(noise), _with_intercept(scaled)  # (rows, 1 + columns); the sample has weight 1
        pairs = torch.triu_indices(rows.shape[1], rows.shape[1], device=rows.device)
        square, moment = _products(first, pairs), first * score[:, None]  # (B, pairs), (B, 1 + columns)
        for part in torch.arange(len(rows), device=rows.device).split(max(1, GROUP // max(square.shape))):
            weight = self._weight(scaled, noise[part])
            square = square + weight @ _products(rows[part], pairs)
            moment = moment + (weight * scores[:, part]) @ rows[part]
        penalty = torch.full_like(rows[0], self.alpha)
        penalty[0] = 0
        solution: Tensor = torch.linalg.solve(_symmetric(square, pairs) + penalty.diag(), moment)
        return solution[:, 1:]

    def _weight(self, scaled: Tensor, noise: Tensor) -> Tensor:
        """The weight of each perturbed row for each sample: (B, rows)."""
        squared = scaled.square().sum(dim=1, keepdim=True) + noise.square().sum(dim=1) - 2 * scaled @ noise.T
        return (squared * (-0.5 / (self.width**2 * scaled.shape[1]))).exp()  # the root is in the exponent


def _with_intercept(rows: Tensor) -> Tensor:
    return torch.cat([torch.ones_like(rows[:, :1]), rows], dim=1)


def _products(rows: Tensor, pairs: Tensor) -> Tensor:
    """Products of all pairs of numbers of a row: (rows, pairs)."""
    columns = rows.T.contiguous()  # whole columns are copied faster than single numbers
    return (columns[pairs[0]] * columns[pairs[1]]).T


def _symmetric(square: Tensor, pairs: Tensor) -> Tensor:
    """(B, pairs) -> (B, numbers, numbers)."""
    size = int(pairs.max()) + 1
    matrix = square.new_zeros(len(square), size, size)
    matrix[:, pairs[0], pairs[1]] = square
    matrix[:, pairs[1], pairs[0]] = square
    return matrix
