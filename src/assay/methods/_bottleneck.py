"""What the information bottlenecks of features and of inputs share: a layer's statistics, the loss, the descent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from assay.core.errors import NotApplicable
from assay.core.query import Query
from assay.kit.bottleneck import Adam, Bottleneck
from assay.kit.layers import watched
from assay.methods._cam import activations, spatial

Loss = Callable[[Tensor], Tensor]  # (N, K, ...) -> (N, K)


@dataclass(frozen=True)
class Descent:
    """How a bottleneck's mask is fitted to a sample: Adam on mean loss over noisy copies + beta * mean capacity."""

    beta: float
    steps: int
    lr: float
    copies: int
    alpha: float  # where the mask starts

    def __call__(self, query: Query, bottleneck: Bottleneck, loss: Loss, purpose: str) -> Tensor:
        """The mask's alpha, (N, C, h, w) in float64. Samples add up, and Adam works entry by entry: they stay apart."""
        draws, step = query.draws(purpose), Adam(self.lr)
        signal = bottleneck.signal
        alpha = torch.full_like(signal, self.alpha, dtype=torch.float64)
        for _ in range(self.steps):
            noise = draws.normal(self.copies, *signal.shape[1:]).to(signal)
            alpha = step(alpha, self._slope(query, bottleneck, loss, alpha.requires_grad_(), noise)).detach()
        return alpha

    def _slope(self, query: Query, bottleneck: Bottleneck, loss: Loss, alpha: Tensor, noise: Tensor) -> Tensor:
        with torch.enable_grad():
            information = bottleneck.capacity(alpha).flatten(1).mean(dim=1).sum()
            (slope,) = torch.autograd.grad(self.beta * information, alpha)
            for part in query.parts(self.copies, gradients=True):
                lost = loss(bottleneck.mixed(alpha, noise[:, part])).sum() / self.copies
                slope = slope + torch.autograd.grad(lost, alpha, materialize_grads=True)[0]
        return slope


def place(query: Query, name: str) -> nn.Module:
    """The layer of this name; of none, the environment's choice for bottlenecks, or the one for activation maps."""
    query.require_gradients()
    return spatial(query, name or query.setting.hints.get("iba", ""))


def statistics(query: Query, chosen: nn.Module, rows: int, smallest: float, active: float) -> dict[str, Tensor]:
    """Mean and deviation of each neuron of a layer over up to so many rows, and which neurons are not always silent."""
    count = min(rows, len(query.x))
    if count < 2:
        raise NotApplicable(f"needs at least 2 reference rows for statistics of a layer, and there are {count}")
    mean = squares = busy = query.x.new_zeros((), dtype=torch.float64)
    seen = 0
    for block in query.about(slice(count)).blocks():
        maps = activations(block, chosen).double()
        size, own = len(maps), maps.mean(dim=0)
        gap = own - mean
        squares = squares + (maps - own).square().sum(dim=0) + gap**2 * (seen * size / (seen + size))
        mean = mean + gap * (size / (seen + size))
        busy = busy + (maps != 0).sum(dim=0)
        seen += size
    deviation = (squares / (seen - 1)).sqrt().clamp(min=smallest)
    return {"mean": mean, "deviation": deviation, "active": (busy / seen > active).double()}


def objective(query: Query, kind: str) -> Loss:
    """What a prediction loses: cross entropy of the target, or the squared distance from the explained number at x."""
    clean = query.outputs(query.x)
    if kind == "auto":
        single = clean.shape[1] == 1 or query.question.readout == "value"
        kind = "squared_error" if single else "cross_entropy"
    if kind == "cross_entropy" and (clean.shape[1] == 1 or query.setting.outputs == "value"):
        raise NotApplicable("needs two classes or more for the cross entropy: ask for objective=squared_error")
    target = query.target.unsqueeze(1)
    expected = clean.gather(1, target)

    def lost(points: Tensor) -> Tensor:
        rows, index = points.flatten(0, 1), target.repeat_interleave(points.shape[1], dim=0)
        answers = query.module(rows) if kind == "squared_error" else -_log_probabilities(query, rows)
        found: Tensor = answers.gather(1, index).view(points.shape[:2])
        return (found - expected) ** 2 if kind == "squared_error" else found

    return lost


def _log_probabilities(query: Query, rows: Tensor) -> Tensor:
    answers: Tensor = query.setting.model(rows)
    if query.setting.outputs == "probabilities":
        return answers.clamp(min=torch.finfo(answers.dtype).tiny).log()
    return (answers / (query.question.temperature or 1.0)).log_softmax(dim=1)


def output(query: Query, chosen: nn.Module, points: Tensor) -> Tensor:
    """What the layer makes of points, with gradients where they are on; its last run counts."""
    seen: list[Tensor] = []

    def keep(_module: nn.Module, _inputs: Any, made: Tensor) -> Tensor:
        seen.append(made)
        return made.clone()  # what comes next may work in place

    with watched([chosen], keep):
        query.setting.model(points)
    return seen[-1]


def signal(query: Query, chosen: nn.Module) -> tuple[Tensor, int]:
    """What the layer makes of the samples, and in which of its runs: the last one counts."""
    runs: list[None] = []
    with watched([chosen], lambda *_: runs.append(None)):
        return activations(query, chosen), len(runs)


@contextmanager
def replaced(chosen: nn.Module, run: int, by: Tensor) -> Iterator[None]:
    """In this scope, the layer's run of this number returns something else."""
    seen: list[None] = []

    def answer(*_: Any) -> Tensor | None:
        seen.append(None)
        return by if len(seen) == run else None

    with watched([chosen], answer):
        yield
