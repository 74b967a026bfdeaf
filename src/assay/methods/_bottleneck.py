"""Information bottlenecks at a layer and at the input: mask and noise, statistics, loss and descent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from assay.core.errors import NotApplicable
from assay.core.query import Query
from assay.kit.layers import forward_hooks
from assay.methods._layer_maps import activations, spatial_layer


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


Loss = Callable[[Tensor], Tensor]  # (N, K, ...) -> (N, K)


@dataclass(frozen=True)
class Descent:
    """Fits a bottleneck's mask to a sample by Adam on mean loss over noisy copies + beta * mean capacity."""

    beta: float
    steps: int
    lr: float
    copies: int
    alpha: float  # start of the mask, before its sigmoid

    def __call__(self, query: Query, bottleneck: Bottleneck, loss: Loss, purpose: str) -> Tensor:
        """The mask's alpha, (N, C, h, w) in float64. Samples stay independent: the loss is their sum, and Adam works
        entry by entry."""
        draws, signal = query.draws(purpose), bottleneck.signal
        alpha = torch.full_like(signal, self.alpha, dtype=torch.float64, requires_grad=True)
        optimiser = torch.optim.Adam([alpha], lr=self.lr)
        for _ in range(self.steps):
            noise = draws.normal(self.copies, *signal.shape[1:]).to(signal)
            alpha.grad = self._slope(query, bottleneck, loss, alpha, noise)
            optimiser.step()
        return alpha.detach()

    def _slope(self, query: Query, bottleneck: Bottleneck, loss: Loss, alpha: Tensor, noise: Tensor) -> Tensor:
        with torch.enable_grad():
            capacity = bottleneck.capacity(alpha).flatten(1).mean(dim=1).sum()
            (slope,) = torch.autograd.grad(self.beta * capacity, alpha)
            for part in query.parts(self.copies, gradients=True):
                loss_of_part = loss(bottleneck.mixed(alpha, noise[:, part])).sum() / self.copies
                slope = slope + torch.autograd.grad(loss_of_part, alpha, materialize_grads=True)[0]
        return slope


def bottleneck_layer(query: Query, name: str) -> nn.Module:
    """The layer of this name; without a name, the environment's choice for bottlenecks, or for activation maps."""
    query.require_gradients()
    return spatial_layer(query, name or query.setting.hints.get("iba", ""))


def statistics(query: Query, layer: nn.Module, rows: int, min_deviation: float, active: float) -> dict[str, Tensor]:
    """Mean and deviation of each neuron of a layer over at most ``rows`` rows, and which neurons are active: not 0 in
    more than that share of the rows."""
    count = min(rows, len(query.x))
    if count < 2:
        raise NotApplicable(f"needs at least 2 reference rows for statistics of a layer, and there are {count}")
    mean = squares = nonzero = query.x.new_zeros((), dtype=torch.float64)
    rows_seen = 0
    for block in query.take(slice(count)).blocks():
        maps = activations(block, layer).double()
        size, block_mean = len(maps), maps.mean(dim=0)
        shift = block_mean - mean
        squares = squares + (maps - block_mean).square().sum(dim=0) + shift**2 * (rows_seen * size / (rows_seen + size))
        mean = mean + shift * (size / (rows_seen + size))
        nonzero = nonzero + (maps != 0).sum(dim=0)
        rows_seen += size
    deviation = (squares / (rows_seen - 1)).sqrt().clamp(min=min_deviation)
    return {"mean": mean, "deviation": deviation, "active": (nonzero / rows_seen > active).double()}


def objective(query: Query, kind: str) -> Callable[[Tensor, int], Tensor]:
    """The loss of a prediction: cross entropy of the target, or squared distance from the explained number at x.

    It takes the rows of a model call with N * K answers, K for each sample, and K; its values are (N, K).
    """
    clean = query.outputs(query.x)
    if kind == "auto":
        single = clean.shape[1] == 1 or query.question.readout == "value"
        kind = "squared_error" if single else "cross_entropy"
    if kind == "cross_entropy" and (clean.shape[1] == 1 or query.setting.outputs == "value"):
        raise NotApplicable("needs two classes or more for the cross entropy: ask for objective=squared_error")
    target = query.target.unsqueeze(1)
    expected = clean.gather(1, target)

    def loss(rows: Tensor, copies: int) -> Tensor:
        outputs = query.module(rows) if kind == "squared_error" else -_log_probabilities(query, rows)
        values: Tensor = outputs.gather(1, target.repeat_interleave(copies, dim=0)).view(-1, copies)
        return (values - expected) ** 2 if kind == "squared_error" else values

    return loss


def _log_probabilities(query: Query, rows: Tensor) -> Tensor:
    outputs: Tensor = query.setting.model(rows)
    if query.setting.outputs == "probabilities":
        return outputs.clamp(min=torch.finfo(outputs.dtype).tiny).log()
    return (outputs / (query.question.temperature or 1.0)).log_softmax(dim=1)


def layer_output(query: Query, layer: nn.Module, points: Tensor) -> Tensor:
    """The layer's output for points, with gradients if they are enabled; its last run counts."""
    outputs: list[Tensor] = []

    def record(_module: nn.Module, _inputs: Any, output: Tensor) -> Tensor:
        outputs.append(output)
        return output.clone()  # the next layer may work in place

    with forward_hooks([layer], record):
        query.setting.model(points)
    return outputs[-1]


def activations_and_run(query: Query, layer: nn.Module) -> tuple[Tensor, int]:
    """The layer's output for the samples in its last run, and the number of that run."""
    runs: list[None] = []
    with forward_hooks([layer], lambda *_: runs.append(None)):
        return activations(query, layer), len(runs)


def answers_follow_from(layer: nn.Module, run: int, query: Query, maps: Tensor) -> bool:
    """Whether a layer's output decides the model's answers, as it does unless a connection bypasses the layer.

    Then one row is enough to run the model where that output is replaced, however many rows it is replaced by.
    """
    twice = maps.repeat_interleave(2, dim=0)
    model, x = query.setting.model, query.x
    try:
        with torch.no_grad():
            with replaced_output(layer, run, by=twice):
                answers = model(x.repeat_interleave(2, dim=0))
            with replaced_output(layer, run, by=twice):
                return torch.equal(model(x[:1]), answers)
    except RuntimeError:  # a bypass brings another number of rows
        return False


@contextmanager
def replaced_output(layer: nn.Module, run: int, by: Tensor) -> Iterator[None]:
    """Within the scope, the layer's run of this number returns ``by``."""
    runs: list[None] = []

    def replace(*_: Any) -> Tensor | None:
        runs.append(None)
        return by if len(runs) == run else None

    with forward_hooks([layer], replace):
        yield
