"""LIME for tables (Ribeiro et al., 2016), as the lime package does it without discretisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.query import Query

GROUP = 2**22  # numbers that the sums over perturbed rows hold at once


@dataclass(frozen=True)
class LimeTabular:
    """Coefficients of a ridge regression on perturbed rows, which weigh more the nearer they are to the sample.

    LimeTabularExplainer with ``discretize_continuous=False`` and all features: rows are normal with the mean and
    standard deviation of the reference rows (not centred on the sample), the first one is the sample itself; in
    standardised columns their weight is sqrt(exp(-distance^2 / width^2)). A coefficient is the change of the score per
    standard deviation. Unlike lime, all samples of a cell share the perturbed rows: the model answers them once for
    all. Needs no gradients.
    """

    samples: int = 5000  # perturbed rows, with the sample itself
    width: float = 0.75  # of the kernel, times the root of the number of columns
    alpha: float = 1.0  # ridge penalty
    times: Literal["coefficient", "product"] = "coefficient"  # or the coefficient times the standardised value

    paper: ClassVar[str] = "Ribeiro et al., 2016"

    def __post_init__(self) -> None:
        if self.samples < 2 or self.width <= 0 or self.alpha <= 0:
            raise SpecError(
                f"lime_tabular: samples={self.samples}, width={self.width}, alpha={self.alpha} make no regression. "
                "Choose 2 samples or more, a positive width and a positive alpha."
            )

    def fit(self, query: Query) -> dict[str, Tensor]:
        if query.setting.kind != "table":
            raise NotApplicable(f"needs a table, and this is {query.setting.kind} data")
        if query.setting.features.shape != query.x.shape[1:]:
            raise NotApplicable("needs columns of one number each, and some here are blocks of entries")
        rows = query.x.double()
        scale = rows.std(dim=0, correction=0)
        constant = (rows == rows[0]).all(dim=0)  # its computed deviation need not be 0
        return {"mean": rows.mean(dim=0), "scale": torch.where(constant, 1, scale)}

    def __call__(self, query: Query) -> Tensor:
        mean, scale = query.fitted["mean"], query.fitted["scale"]
        own = (query.x.double() - mean) / scale  # (B, columns)
        noise = torch.randn(self.samples - 1, len(mean), generator=query.generator("rows"), dtype=torch.float64)
        noise = noise.to(query.x.device)
        outputs = query.outputs((noise * scale + mean).to(query.x.dtype))  # (rows, classes)
        scores = outputs.double().T[query.target]  # (B, rows)
        coefficients = self._ridge(own, query.score(query.x).double(), noise, scores)
        answer = coefficients * own if self.times == "product" else coefficients
        return answer.to(query.x.dtype)

    def _ridge(self, own: Tensor, score: Tensor, noise: Tensor, scores: Tensor) -> Tensor:
        """Weighted ridge regression of each sample's scores, with an intercept that is not penalised."""
        rows, first = _with_one(noise), _with_one(own)  # (rows, 1 + columns), and the sample itself with weight 1
        pairs = torch.triu_indices(rows.shape[1], rows.shape[1], device=rows.device)
        square, moment = _products(first, pairs), first * score[:, None]  # (B, pairs), (B, 1 + columns)
        for part in torch.arange(len(rows), device=rows.device).split(max(1, GROUP // max(square.shape))):
            weight = self._weight(own, noise[part])
            square = square + weight @ _products(rows[part], pairs)
            moment = moment + (weight * scores[:, part]) @ rows[part]
        penalty = torch.full_like(rows[0], self.alpha)
        penalty[0] = 0
        solution: Tensor = torch.linalg.solve(_symmetric(square, pairs) + penalty.diag(), moment)
        return solution[:, 1:]

    def _weight(self, own: Tensor, noise: Tensor) -> Tensor:
        """How near each perturbed row is to each sample: (B, rows)."""
        squared = own.square().sum(dim=1, keepdim=True) + noise.square().sum(dim=1) - 2 * own @ noise.T
        return (squared * (-0.5 / (self.width**2 * own.shape[1]))).exp()  # the root is in the exponent


def _with_one(rows: Tensor) -> Tensor:
    return torch.cat([torch.ones_like(rows[:, :1]), rows], dim=1)


def _products(rows: Tensor, pairs: Tensor) -> Tensor:
    """Two numbers of a row multiplied, for every pair of them: (rows, pairs)."""
    columns = rows.T.contiguous()  # whole columns are copied faster than single numbers
    return (columns[pairs[0]] * columns[pairs[1]]).T


def _symmetric(square: Tensor, pairs: Tensor) -> Tensor:
    """(B, pairs) -> (B, numbers, numbers)."""
    size = int(pairs.max()) + 1
    matrix = square.new_zeros(len(square), size, size)
    matrix[:, pairs[0], pairs[1]] = square
    matrix[:, pairs[1], pairs[0]] = square
    return matrix
