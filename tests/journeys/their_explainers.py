"""A user's model with layers, and explainers that were made for it as the module was imported."""

import captum.attr
import torch
from torch import nn

from streams import seeded


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(2, 4, 3, padding=1)
        self.layer3 = nn.Conv2d(4, 3, 3, stride=2, padding=1)
        self.fc = nn.Linear(12, 3)

    def forward(self, x):
        return self.fc(self.layer3(self.conv1(x).relu()).relu().flatten(1))


@seeded()
def make():
    return Net().eval()


net = make()
smooth = captum.attr.NoiseTunnel(captum.attr.IntegratedGradients(net))


def rows(count=20):
    return torch.randn(count, 2, 4, 4, generator=torch.Generator().manual_seed(0))


class MeanSize:
    """A metric in Quantus' shape, which asks again."""

    def __init__(self, step=0.5):
        self.step = step

    def __call__(self, model, x_batch, y_batch, a_batch, explain_func):
        moved = explain_func(model=model, inputs=x_batch + self.step, targets=y_batch)
        return list(abs(moved - a_batch).reshape(len(a_batch), -1).mean(axis=1))
