"""Information bottlenecks (Schulz et al., 2020): a mask mixes a signal with noise and so limits the information."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Bottleneck:
    """Mixes a signal (N, C, h, w) with normal noise: z = l * signal + (1 - l) * noise.

    l = sigmoid(alpha), smoothed over positions. A ``prior`` g (Zhang et al., 2021) is a share of the signal that is
    known in advance: information is counted relative to g * l * signal + (1 - g * l) * noise; at g = 0, to noise alone.
    alpha is float64, since little information is a small difference of large numbers. The mixture has the signal's
    dtype.
    """

    signal: Tensor  # (N, C, h, w)
    mean: Tensor  # of the noise
    deviation: Tensor  # of the noise
    sigma: float  # of the smoothing, in positions
    active: Tensor  # 0 where neither signal nor noise may pass; else 1
    prior: Tensor  # in [0, 1)

    def mixed(self, alpha: Tensor, noise: Tensor) -> Tensor:
        """The signal seen through the mask, with K draws (N, K, C, h, w) of standard normal noise."""
        keep, drop = (share.unsqueeze(1).to(noise) for share in self._shares(alpha))
        return (keep * self.signal.unsqueeze(1) + drop * (self.mean + self.deviation * noise)) * self.active

    def capacity(self, alpha: Tensor) -> Tensor:
        """The information that passes at each position of each channel, in nats."""
        keep, drop = self._shares(alpha)
        unknown = drop + keep * (1 - self.prior)  # 1 - g * l
        shift = keep * (self.signal - self.mean) * (1 - self.prior) / (unknown * self.deviation)
        return divergence(shift, drop / unknown) * self.active

    def _shares(self, alpha: Tensor) -> tuple[Tensor, Tensor]:
        """l and 1 - l; the second stays precise where the first is almost 1."""
        down, across = self._smoothing
        keep, drop = (down @ side.sigmoid() @ across.mT for side in (alpha, -alpha))
        return keep, drop.clamp(min=torch.finfo(drop.dtype).tiny)

    @cached_property
    def _smoothing(self) -> tuple[Tensor, Tensor]:
        height, width = self.signal.shape[2:]
        like = self.signal.double()
        return smoothing_matrix(height, self.sigma, like), smoothing_matrix(width, self.sigma, like)


def divergence(mean: Tensor, deviation: Tensor) -> Tensor:
    """Kullback-Leibler divergence of a normal distribution from the standard one, in nats."""
    return 0.5 * (mean**2 + deviation**2 - 1) - deviation.log()


def smoothing_matrix(size: int, sigma: float, like: Tensor) -> Tensor:
    """(size, size): a Gaussian cut off at two sigma, along an axis mirrored at its ends; the identity at sigma 0."""
    reach = round(2 * sigma)
    offsets = torch.arange(-reach, reach + 1, device=like.device)
    weights = torch.exp(-0.5 * (offsets.to(like) / (sigma or 1.0)) ** 2)
    period = max(1, 2 * size - 2)
    positions = (torch.arange(size, device=like.device).unsqueeze(1) + offsets) % period
    nearest = torch.minimum(positions, period - positions)
    return like.new_zeros(size, size).scatter_add_(1, nearest, (weights / weights.sum()).expand(size, -1))
