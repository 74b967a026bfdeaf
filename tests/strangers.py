"""Methods and metrics in other people's shapes: functions and classes that know nothing of us, with random numbers."""

import numpy as np
import torch
from torch import Tensor, nn


def noise(model, inputs, targets):
    """A method that is a plain function, with random numbers of its own."""
    return torch.rand_like(inputs)


def query_noise(query):
    """A method that is a function of a query."""
    return query.draws("noise").normal(*query.x.shape[1:])


def noisy_mean(model, x_batch, y_batch, a_batch):
    """A metric that is a plain function, with random numbers of its own."""
    return a_batch.reshape(len(a_batch), -1).mean(axis=1) + np.random.random(len(a_batch))


class Saliency:
    """A class in Captum's shape."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model

    def attribute(self, inputs: Tensor, target: Tensor) -> Tensor:
        return inputs * torch.rand(inputs.shape[1:])


class NoisyMean:
    """A metric in Quantus' shape."""

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale

    def __call__(self, model, x_batch, y_batch, a_batch):
        return self.scale * noisy_mean(model, x_batch, y_batch, a_batch)
