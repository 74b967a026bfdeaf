"""The one training loop for classifiers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy

Progress = Callable[[int, float], None]  # epoch from 0, mean loss of its batches
Augment = Callable[[Tensor, Generator], Tensor]  # a batch as the model is to see it this time
Schedule = Callable[[int], float]  # epoch from 0 -> factor of the learning rate


class Optimiser(Protocol):
    """What makes an optimiser: ``torch.optim.Adam``, or ``partial(torch.optim.SGD, momentum=0.9)``."""

    def __call__(self, params: list[nn.Parameter], *, lr: float) -> torch.optim.Optimizer: ...


def fit(
    model: nn.Module,
    x: Tensor,
    label: Tensor,
    epochs: int,
    batch: int,
    lr: float,
    generator: Generator,
    progress: Progress | None = None,
    optimiser: Optimiser = torch.optim.Adam,
    schedule: Schedule | None = None,
    augment: Augment | None = None,
) -> None:
    """Train every parameter with cross entropy; the model ends frozen and in evaluation mode.

    The result depends on the model's numbers, the rows and ``generator`` (a CPU generator: it orders the rows, and
    ``augment`` draws from it) only; layers that draw from global streams, such as dropout, find one that begins with
    its seed. The last batch of an epoch may be smaller. Fine-tuning is the same call on a trained model.
    """
    with _own_stream(generator):
        model.train().requires_grad_()
        stepper = optimiser(list(model.parameters()), lr=lr)
        for epoch in range(epochs):
            if schedule is not None:
                for group in stepper.param_groups:
                    group["lr"] = lr * schedule(epoch)
            order = torch.randperm(len(x), generator=generator).to(x.device)
            losses = []
            for rows in cut(order, batch):
                seen = x[rows] if augment is None else augment(x[rows], generator)
                losses.append(_step(model, stepper, seen, label[rows]))
            if progress is not None:
                progress(epoch, torch.stack(losses).mean().item())
        stepper.zero_grad()
        model.eval().requires_grad_(False)


def cut(order: Tensor, batch: int) -> tuple[Tensor, ...]:
    """Row numbers (..., N) in batches; a single last row goes with those before, as it has no variance to normalise."""
    parts = torch.split(order, batch, dim=-1)
    if len(parts) > 1 and parts[-1].shape[-1] == 1:
        return (*parts[:-2], torch.cat(parts[-2:], dim=-1))
    return parts


@contextmanager
def _own_stream(generator: Generator) -> Iterator[None]:
    """The global stream begins with the generator's seed, and is afterwards where it was."""
    with torch.random.fork_rng():
        torch.random.set_rng_state(Generator().manual_seed(generator.initial_seed()).get_state())
        yield


def _step(model: nn.Module, optimiser: torch.optim.Optimizer, x: Tensor, label: Tensor) -> Tensor:
    optimiser.zero_grad()
    with torch.enable_grad():
        loss = cross_entropy(model(x), label)
    loss.backward()  # type: ignore[no-untyped-call]
    optimiser.step()
    return loss.detach()
