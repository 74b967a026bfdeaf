"""The training loop for classifiers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol

import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy

from assay.train.checkpoints import Checkpoints

Progress = Callable[[int, float], None]  # epoch from 0, mean loss of its batches
Augment = Callable[[Tensor, Generator], Tensor]  # a batch -> what the model sees of it in this step
Schedule = Callable[[int], float]  # epoch from 0 -> factor of the learning rate


class Optimiser(Protocol):
    """Makes an optimiser: ``torch.optim.Adam``, or ``partial(torch.optim.SGD, momentum=0.9)``."""

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

    The result depends only on the model's parameters and buffers, the rows and ``generator`` (on the CPU; it orders the
    rows, and ``augment`` draws from it). For layers that draw from the global stream, such as dropout, that stream
    starts with the generator's seed. The last batch of an epoch may be smaller. Fine-tuning is the same call on a
    trained model.

    Inside of ``checkpoints_in`` a training that was stopped resumes with the epoch that it was in, to the same result;
    ``progress`` is called for the remaining epochs.
    """
    with _seeded_global_stream(generator):
        model.train().requires_grad_()
        stepper = optimiser(list(model.parameters()), lr=lr)
        checkpoints = Checkpoints(_Training(model, stepper, generator), x, label, epochs, batch, lr)
        for epoch in range(checkpoints.done, epochs):
            if schedule is not None:
                for group in stepper.param_groups:
                    group["lr"] = lr * schedule(epoch)
            order = torch.randperm(len(x), generator=generator).to(x.device)
            losses = []
            for rows in split_batches(order, batch):
                inputs = x[rows] if augment is None else augment(x[rows], generator)
                losses.append(_step(model, stepper, inputs, label[rows]))
            checkpoints.keep(epoch + 1)
            if progress is not None:
                progress(epoch, torch.stack(losses).mean().item())
        stepper.zero_grad()
        model.eval().requires_grad_(False)


@dataclass(frozen=True)
class _Training:
    """What the next epoch depends on; its number sets the learning rate."""

    model: nn.Module
    stepper: torch.optim.Optimizer
    generator: Generator

    def state(self) -> dict[str, Any]:
        return {
            "model": dict(self._tensors()),
            "groups": [_options(group) for group in self.stepper.param_groups],
            "moments": [self.stepper.state.get(parameter, {}) for parameter in self._parameters()],
            "generator": self.generator.get_state(),
            "global stream": torch.random.get_rng_state(),
        }

    def resume(self, state: dict[str, Any]) -> None:
        with torch.no_grad():
            for name, tensor in self._tensors():
                tensor.copy_(state["model"][name])
        for group, options in zip(self.stepper.param_groups, state["groups"], strict=True):
            group.update(options)
        # Not by load_state_dict, which may change the dtype.
        for parameter, moments in zip(self._parameters(), state["moments"], strict=True):
            if moments:
                self.stepper.state[parameter] = moments
        self.generator.set_state(state["generator"])
        torch.random.set_rng_state(state["global stream"])

    def _tensors(self) -> Iterator[tuple[str, Tensor]]:
        return chain(self.model.named_parameters(), self.model.named_buffers())

    def _parameters(self) -> Iterator[nn.Parameter]:
        return (parameter for group in self.stepper.param_groups for parameter in group["params"])


def _options(group: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in group.items() if name != "params"}


def split_batches(order: Tensor, batch: int) -> tuple[Tensor, ...]:
    """Row numbers (..., N) in batches; a single last row joins the batch before, as one row has no variance."""
    parts = torch.split(order, batch, dim=-1)
    if len(parts) > 1 and parts[-1].shape[-1] == 1:
        return (*parts[:-2], torch.cat(parts[-2:], dim=-1))
    return parts


@contextmanager
def _seeded_global_stream(generator: Generator) -> Iterator[None]:
    """Start the global random stream with the generator's seed; restore it on exit."""
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
