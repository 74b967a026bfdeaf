"""Shared parts of the information bottlenecks at a layer and at the input: statistics, loss and descent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from assay.core.errors import NotApplicable
from assay.core.query import Query
from assay.kit.bottleneck import Bottleneck
from assay.kit.layers import forward_hooks
from assay.methods._layer_maps import activations, spatial_layer

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


def objective(query: Query, kind: str) -> Loss:
    """The loss of a prediction: cross entropy of the target, or squared distance from the explained number at x."""
    clean = query.outputs(query.x)
    if kind == "auto":
        single = clean.shape[1] == 1 or query.question.readout == "value"
        kind = "squared_error" if single else "cross_entropy"
    if kind == "cross_entropy" and (clean.shape[1] == 1 or query.setting.outputs == "value"):
        raise NotApplicable("needs two classes or more for the cross entropy: ask for objective=squared_error")
    target = query.target.unsqueeze(1)
    expected = clean.gather(1, target)

    def loss(points: Tensor) -> Tensor:
        rows, index = points.flatten(0, 1), target.repeat_interleave(points.shape[1], dim=0)
        outputs = query.module(rows) if kind == "squared_error" else -_log_probabilities(query, rows)
        values: Tensor = outputs.gather(1, index).view(points.shape[:2])
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


@contextmanager
def replaced_output(layer: nn.Module, run: int, by: Tensor) -> Iterator[None]:
    """Within the scope, the layer's run of this number returns ``by``."""
    runs: list[None] = []

    def replace(*_: Any) -> Tensor | None:
        runs.append(None)
        return by if len(runs) == run else None

    with forward_hooks([layer], replace):
        yield
