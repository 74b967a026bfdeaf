"""The one training loop for classifiers."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy

Progress = Callable[[int, float], None]  # epoch from 0, mean loss of its batches


def fit(
    model: nn.Module,
    x: Tensor,
    label: Tensor,
    epochs: int,
    batch: int,
    lr: float,
    generator: Generator,
    progress: Progress | None = None,
) -> None:
    """Train every parameter with Adam and cross entropy; the model ends frozen and in evaluation mode.

    The result depends on the model's numbers, the rows and ``generator`` (a CPU generator: it orders the rows) only.
    The last batch of an epoch may be smaller. Fine-tuning is the same call on a trained model.
    """
    model.train().requires_grad_()
    optimiser = torch.optim.Adam(model.parameters(), lr=lr)
    for epoch in range(epochs):
        order = torch.randperm(len(x), generator=generator).to(x.device)
        losses = [_step(model, optimiser, x[rows], label[rows]) for rows in torch.split(order, batch)]
        if progress is not None:
            progress(epoch, torch.stack(losses).mean().item())
    optimiser.zero_grad()
    model.eval().requires_grad_(False)


def _step(model: nn.Module, optimiser: torch.optim.Optimizer, x: Tensor, label: Tensor) -> Tensor:
    optimiser.zero_grad()
    with torch.enable_grad():
        loss = cross_entropy(model(x), label)
    loss.backward()  # type: ignore[no-untyped-call]
    optimiser.step()
    return loss.detach()
