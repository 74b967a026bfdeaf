"""Information bottlenecks (Schulz et al., 2020): a mask mixes a signal with noise; what passes is counted in nats."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Bottleneck:
    """Mixes a signal (N, C, h, w) with normal noise: z = l * signal + (1 - l) * noise.

    l = sigmoid(alpha), smoothed over places. A ``prior`` g (Zhang et al., 2021) says that a share g of the signal is
    known anyway: what passes is counted against g * l * signal + (1 - g * l) * noise; at g = 0, against noise alone.
    alpha is float64: little information is a small difference of large numbers. What is mixed has the signal's format.
    """

    signal: Tensor  # (N, C, h, w)
    mean: Tensor  # of the noise
    deviation: Tensor  # of the noise
    sigma: float  # of the smoothing, in places
    active: Tensor  # 0 where nothing may pass, neither signal nor noise; else 1
    prior: Tensor  # in [0, 1)

    def mixed(self, alpha: Tensor, noise: Tensor) -> Tensor:
        """The signal seen through the mask, with K draws (N, K, C, h, w) of standard normal noise."""
        keep, drop = (share.unsqueeze(1).to(noise) for share in self._shares(alpha))
        return (keep * self.signal.unsqueeze(1) + drop * (self.mean + self.deviation * noise)) * self.active

    def capacity(self, alpha: Tensor) -> Tensor:
        """What passes at each place of each channel, in nats."""
        keep, drop = self._shares(alpha)
        unknown = drop + keep * (1 - self.prior)  # 1 - g * l
        shift = keep * (self.signal - self.mean) * (1 - self.prior) / (unknown * self.deviation)
        return divergence(shift, drop / unknown) * self.active

    def _shares(self, alpha: Tensor) -> tuple[Tensor, Tensor]:
        """l and 1 - l; the second keeps its digits where the first is almost 1."""
        down, across = self._smoothing
        keep, drop = (down @ side.sigmoid() @ across.mT for side in (alpha, -alpha))
        return keep, drop.clamp(min=torch.finfo(drop.dtype).tiny)

    @cached_property
    def _smoothing(self) -> tuple[Tensor, Tensor]:
        height, width = self.signal.shape[2:]
        like = self.signal.double()
        return smoothing(height, self.sigma, like), smoothing(width, self.sigma, like)


def divergence(mean: Tensor, deviation: Tensor) -> Tensor:
    """Kullback-Leibler divergence of a normal distribution from the standard one, in nats."""
    return 0.5 * (mean**2 + deviation**2 - 1) - deviation.log()


def smoothing(size: int, sigma: float, like: Tensor) -> Tensor:
    """(size, size): a Gaussian cut off at two sigma along an axis that is mirrored at its ends; 0 changes nothing."""
    reach = round(2 * sigma)
    offsets = torch.arange(-reach, reach + 1, device=like.device)
    weights = torch.exp(-0.5 * (offsets.to(like) / (sigma or 1.0)) ** 2)
    period = max(1, 2 * size - 2)
    places = (torch.arange(size, device=like.device).unsqueeze(1) + offsets) % period
    nearest = torch.minimum(places, period - places)
    return like.new_zeros(size, size).scatter_add_(1, nearest, (weights / weights.sum()).expand(size, -1))


class Adam:
    """Adam for one tensor, in PyTorch's form and with its defaults."""

    def __init__(self, lr: float, decay: tuple[float, float] = (0.9, 0.999), epsilon: float = 1e-8) -> None:
        self.lr, self.decay, self.epsilon = lr, decay, epsilon
        self.first: Tensor | float = 0.0
        self.second: Tensor | float = 0.0
        self.steps = 0

    def __call__(self, at: Tensor, slope: Tensor) -> Tensor:
        """The tensor one step further down."""
        one, two = self.decay
        self.steps += 1
        self.first = one * self.first + (1 - one) * slope
        self.second = two * self.second + (1 - two) * slope**2
        size = (self.second / (1 - two**self.steps)).sqrt() + self.epsilon
        return at - self.lr / (1 - one**self.steps) * self.first / size


class RmsProp:
    """RMSprop for one tensor, in PyTorch's form and with its defaults."""

    def __init__(self, lr: float, decay: float = 0.99, epsilon: float = 1e-8) -> None:
        self.lr, self.decay, self.epsilon = lr, decay, epsilon
        self.second: Tensor | float = 0.0

    def __call__(self, at: Tensor, slope: Tensor) -> Tensor:
        """The tensor one step further down."""
        self.second = self.decay * self.second + (1 - self.decay) * slope**2
        return at - self.lr * slope / (self.second.sqrt() + self.epsilon)
