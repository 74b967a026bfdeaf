"""Copies of a network in which some layers have the random weights of an untrained layer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt

import torch
from torch import Generator, Tensor, nn
from torch.nn.modules.batchnorm import _NormBase

from assay.core.setting import model_copy

Fixed = (_NormBase, nn.LayerNorm, nn.GroupNorm, nn.RMSNorm, nn.PReLU)  # a new one always has the same parameters


def layer_names(model: nn.Module) -> list[str]:
    """Names of the modules that own parameters, as the model lists them: from the input to the output."""
    return [name for name, module in model.named_modules() if next(module.parameters(recurse=False), None) is not None]


def reinitialised(model: nn.Module, names: Sequence[str], stream: Callable[[str], Generator]) -> nn.Module:
    """A copy in which the named layers have new weights, each drawn from its own stream."""
    copy = model_copy(model)
    for name in names:
        _reset(copy.get_submodule(name), stream(name))
    return copy


def _reset(module: nn.Module, generator: Generator) -> None:
    """Fill as PyTorch fills linear and convolutional layers: uniform within 1 / sqrt(inputs), biases too.

    A normalisation gets weights 1 and biases 0 and forgets its running statistics; a PReLU gets its initial slope.
    Other tensors follow the same rule: the inputs of a tensor are all its dimensions but the first; those of a vector
    are the most inputs of any tensor of the module.
    """
    if isinstance(module, Fixed):
        module.reset_parameters()
        return
    tensors = list(module.parameters(recurse=False))
    most_inputs = max(_inputs(parameter) for parameter in tensors)
    for parameter in tensors:
        bound = 1 / sqrt(_inputs(parameter) if parameter.dim() > 1 else most_inputs)
        drawn = torch.rand(parameter.shape, generator=generator)
        with torch.no_grad():
            parameter.copy_(bound * (2 * drawn - 1))


def _inputs(parameter: Tensor) -> int:
    return max(1, parameter[0].numel()) if parameter.dim() > 1 else 1
