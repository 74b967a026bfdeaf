"""A user's models."""

import torch
from torch import nn


def linear() -> nn.Module:
    """Three classes, six columns; class c reads columns c and c + 3 only."""
    layer = nn.utils.skip_init(nn.Linear, 6, 3, bias=False)
    with torch.no_grad():
        layer.weight.copy_(torch.eye(3).repeat(1, 2))
    return layer


def moody() -> nn.Module:
    """Other weights every time."""
    return nn.Linear(6, 3, bias=False)


def pictures() -> nn.Module:
    """Two classes: how much of the first channel there is, and how much of the second."""
    layer = nn.utils.skip_init(nn.Conv2d, 2, 2, 4, bias=False)
    with torch.no_grad():
        layer.weight.zero_()
        layer.weight[0, 0], layer.weight[1, 1] = 1.0, 1.0
    return nn.Sequential(layer, nn.Flatten())


def colours() -> nn.Module:
    """The mean of each of three colours."""
    return nn.Sequential(nn.Flatten(2), Means())


class Means(nn.Module):
    def forward(self, x):
        return x.mean(dim=2)


def number() -> float:
    return 1.0


def size(model, x, y, a):
    """A metric that does not say which way is better."""
    return a.abs().flatten(1).sum(dim=1)


class Noisy(nn.Module):
    """Dropout that is always on."""

    def forward(self, x):
        return nn.functional.dropout(x[:, :3], 0.5, training=True)


class Counting(nn.Module):
    """Every call is answered with larger numbers."""

    calls = 0

    def forward(self, x):
        self.calls += 1
        return x[:, :3] * self.calls


class Mixing(nn.Module):
    """A row is told from the mean of its batch."""

    def forward(self, x):
        return x[:, :3] - x[:, :3].mean(dim=0)


class Reading(nn.Module):
    """A batch is read as a sequence: the first row knows of no other."""

    def forward(self, x):
        return x[:, :3].cumsum(dim=0)


def unstated() -> nn.Module:
    """Batch normalisation without running statistics."""
    return nn.Sequential(linear(), nn.BatchNorm1d(3, track_running_stats=False))


def soft() -> nn.Module:
    return nn.Sequential(linear(), nn.Softmax(dim=1))


def overwriting() -> nn.Module:
    return nn.Sequential(nn.ReLU(inplace=True), linear())


def careful() -> nn.Module:
    """The same without writing into its input."""
    return nn.Sequential(nn.ReLU(), linear())


def broken() -> nn.Module:
    raise RuntimeError("no weights today")


def sized(columns) -> nn.Module:
    return nn.Linear(columns, 3)


class Shaped(nn.Module):
    """Answers of a shape that is none of classes."""

    def __init__(self, cube):
        super().__init__()
        self.cube = cube

    def forward(self, x):
        return x[:, None, None].expand(-1, 2, 3, -1) if self.cube else x.sum()


def cube() -> nn.Module:
    return Shaped(cube=True)


def total() -> nn.Module:
    return Shaped(cube=False)


def in_training() -> nn.Module:
    return linear().train()


three = 3


class Explainer:
    """Made for a model already, as Captum's are."""

    def attribute(self, inputs, target):
        return inputs
