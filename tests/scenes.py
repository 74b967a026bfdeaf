"""Small models and questions about them, for tests of methods. Weights and data come from local generators only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor, nn

from assay.core.features import Columns, Features, Pixels
from assay.core.machine import Machine
from assay.core.query import Query
from assay.core.question import Question
from assay.core.rng import Stream
from assay.core.setting import Reference, Setting
from streams import seeded

TINY = Machine(memory=2**20)


def randomised(model: nn.Module, seed: int = 0, scale: float = 0.5) -> nn.Module:
    """The model with random weights and biases, in evaluation mode."""
    stream = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(scale * torch.randn(parameter.shape, generator=stream))
    return model.eval()


@seeded()
def mlp(seed: int = 0, activation: Callable[[], nn.Module] = nn.ReLU) -> nn.Sequential:
    """6 -> 10 -> 8 -> 3."""
    layers = nn.Sequential(nn.Linear(6, 10), activation(), nn.Linear(10, 8), activation(), nn.Linear(8, 3))
    return randomised(layers, seed)


class Flat(nn.Module):
    """``tensor.flatten`` is not a module here: Captum's LRP cannot pass nn.Flatten."""

    def __init__(self, body: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.body, self.head = body, head

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(x).flatten(1))


@seeded()
def cnn(seed: int = 0, pool: Callable[[], nn.Module] = nn.Identity) -> Flat:
    """2 x 8 x 8 -> 3 classes; a strided and a padded convolution."""
    body = nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1), nn.ReLU(), pool(), nn.Conv2d(4, 3, 3, stride=2, padding=1), nn.ReLU()
    )
    cells = body(torch.zeros(1, 2, 8, 8)).numel()
    return randomised(Flat(body, nn.Sequential(nn.Linear(cells, 5), nn.ReLU(), nn.Linear(5, 3))), seed)


def data(count: int, *entries: int, seed: int = 1) -> Tensor:
    return torch.randn(count, *entries, generator=torch.Generator().manual_seed(seed))


def ask(
    model: nn.Module,
    x: Tensor,
    readout: str = "logit",
    baseline: Tensor | float = 0.0,
    temperature: float = 1.0,
    features: Features | None = None,
    machine: Machine = Machine(),
) -> Query:
    """A question about every row of ``x``; targets go round the classes, the reference is 32 rows of noise."""
    image = x.dim() == 4
    if features is None:
        features = Pixels(*x.shape[1:]) if image else Columns.plain(x.shape[1])
    with torch.no_grad():
        classes = model(x[:1]).shape[1]
    question = Question(readout=readout, temperature=temperature, baseline="zero", target="label")
    reference = Reference(data(32, *x.shape[1:], seed=2).to(x.dtype), torch.arange(32) % classes)
    setting = Setting(model, features, "image" if image else "table", question, reference=reference)
    start = torch.full_like(x, baseline) if isinstance(baseline, float) else baseline.to(x.dtype).expand_as(x)
    count = len(x)
    target = torch.arange(count) % classes
    return Query(setting, question, x, target, start, tuple(range(count)), Stream("test"), {}, machine)


def rows(query: Query, keep: slice) -> Query:
    """The same question about some of the samples."""
    part = {name: getattr(query, name)[keep] for name in ("x", "target", "baseline", "indices")}
    return replace(query, **part)


def fitted(method: object, query: Query) -> Query:
    """The query with what the method's ``fit`` finds in the reference rows."""
    reference = query.setting.reference
    assert reference is not None
    count = len(reference.x)
    asked = replace(
        query,
        x=reference.x,
        target=reference.label,
        baseline=torch.zeros_like(reference.x),
        indices=tuple(range(count)),
    )
    return replace(query, fitted=method.fit(asked)) if hasattr(method, "fit") else query  # type: ignore[attr-defined]
