"""Copies of a network some of whose layers are as if they had never been trained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt

import torch
from torch import Generator, Tensor, nn
from torch.nn.modules.batchnorm import _NormBase

from assay.core.setting import model_copy

Fixed = (_NormBase, nn.LayerNorm, nn.GroupNorm, nn.RMSNorm, nn.PReLU)  # new ones are all alike


def layers(model: nn.Module) -> list[str]:
    """Names of the modules that own parameters, as the model lists them: the input's side first."""
    return [name for name, module in model.named_modules() if next(module.parameters(recurse=False), None) is not None]


def reinitialised(model: nn.Module, names: Sequence[str], stream: Callable[[str], Generator]) -> nn.Module:
    """A copy in which the named layers have new numbers, each drawn from its own stream."""
    copy = model_copy(model)
    for name in names:
        _renew(copy.get_submodule(name), stream(name))
    return copy


def _renew(module: nn.Module, generator: Generator) -> None:
    """As PyTorch fills linear and convolutional layers: uniform within 1 / sqrt(inputs), biases too.

    A normalisation is 1 and 0 again, its running statistics too, and a PReLU's slope what it begins with. Other tensors
    go by the same rule: a tensor's inputs are all its dimensions but the first, a vector's are those of the largest
    tensor beside it.
    """
    if isinstance(module, Fixed):
        module.reset_parameters()
        return
    own = list(module.parameters(recurse=False))
    most = max(_inputs(parameter) for parameter in own)
    for parameter in own:
        bound = 1 / sqrt(_inputs(parameter) if parameter.dim() > 1 else most)
        drawn = torch.rand(parameter.shape, generator=generator)
        with torch.no_grad():
            parameter.copy_(bound * (2 * drawn - 1))


def _inputs(parameter: Tensor) -> int:
    return max(1, parameter[0].numel()) if parameter.dim() > 1 else 1
