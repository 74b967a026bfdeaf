"""Shapley values of a linear score under a Gaussian: exact, as linear maps of x.

The score is ``w x`` and ``x ~ N(mean, covariance)``. The Shapley value of feature j is its average contribution to the
value of a coalition S of features; what is known of the others decides which value:

- interventional: the others are drawn without regard to x_S. Then ``phi_j = w_j (x_j - mean_j)``, whatever the
  covariance: what the score does with j.
- conditional: the others are drawn given x_S, ``v(S) = E[w x | x_S]``: what j says about the score. A feature with
  weight 0 has a nonzero value if it is correlated with one that counts.

Both add up to ``w x - E[w x]``, and they are equal for independent features.
"""

from __future__ import annotations

from math import comb

import torch
from torch import Tensor

from assay.kit.games import members

MOST_FEATURES = 12  # 2^12 coalitions


def interventional_maps(weights: Tensor) -> Tensor:
    """(C, d, d) for ``weights`` (C, d) of C scores: ``maps[c] @ (x - mean)`` are the d values of score c."""
    return torch.diag_embed(weights.double())


def conditional_maps(weights: Tensor, covariance: Tensor) -> Tensor:
    """The same for conditional values, summed over all 2^d coalitions; d is at most ``MOST_FEATURES``."""
    known = members(weights).double()  # (N, d)
    value = weights.double() @ _regressions(covariance.double(), known)  # (N, C, d): v(S) = value[S] (x - mean)
    return torch.einsum("nj,ncd->cjd", _shares(known), value)


def _regressions(covariance: Tensor, known: Tensor) -> Tensor:
    """(N, d, d) for coalitions S (N, d): ``E[x - mean | x_S] = regression (x - mean)``; 0 for features outside S."""
    pairs = known[:, :, None] * known[:, None, :]
    padded = torch.where(pairs > 0, covariance, torch.diag_embed(1 - known))  # covariance of S, and 1 elsewhere
    precision: Tensor = torch.linalg.inv(padded) * pairs
    return covariance @ precision


def _shares(known: Tensor) -> Tensor:
    """(N, d): how much of v(S) counts for j. ``1 / (d C(d-1, k))`` for a coalition of k others: plus where j joined it,
    minus where j is still outside."""
    d = known.shape[1]
    per_size = torch.tensor([1 / (d * comb(d - 1, k)) for k in range(d)], dtype=known.dtype, device=known.device)
    others = (known.sum(dim=1, keepdim=True) - known).long()
    return per_size[others] * (2 * known - 1)
