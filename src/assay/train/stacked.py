"""Train many small networks of one shape together: one batched matrix product in place of many small ones.

The loop of ``fit`` spends much of its time outside the arithmetic: on calls, on allocating buffers, on an optimiser
that visits every tensor of every network. For convolutions a batched product is no faster.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Generator, Tensor, nn

from assay.train.checkpoints import Checkpoints
from assay.train.fit import split_batches

STACK_BYTES = 4_000_000  # a stack's tensors on a CPU: larger ones leave its cache between two uses


def fit_stacked(
    networks: Sequence[nn.Sequential],
    x: Tensor,
    label: Tensor,
    epochs: int,
    batch: int,
    lr: float,
    generators: Sequence[Generator],
) -> None:
    """Train K networks as ``fit`` trains each alone with Adam: the k-th on rows ``x[k]`` of (K, N, d), in the order of
    its own generator. Labels (N,) are common to all.

    Networks are linear layers with a ReLU between them (``mlp``). Each gets the same batches as alone and takes the
    same steps, up to the rounding of a batched product: none for the networks of ``make bench TASK=retraining``, about
    1e-7 after ten epochs if layers have odd widths. All end frozen and in evaluation mode.
    A training that was stopped resumes as in ``fit``.
    """
    layers = [_linear_layers(network) for network in networks]
    size = _stack_size(layers[0], min(batch, len(label))) if x.device.type == "cpu" else len(networks)
    with torch.no_grad():
        for begin in range(0, len(networks), size):
            part = slice(begin, begin + size)
            stack = _Stack(layers[part])
            stepper = torch.optim.Adam([stack.parameters], lr=lr)
            training = _Training(stack.parameters, stepper, generators[part])
            checkpoints = Checkpoints(training, x[part], label, epochs, batch, lr)
            for epoch in range(checkpoints.done, epochs):
                for inputs, gradient in _batches(x[part], label, stack.classes, batch, generators[part]):
                    stack.differentiate(inputs, gradient)
                    stepper.step()
                checkpoints.keep(epoch + 1)
            stack.copy_back()
    for network in networks:
        network.eval().requires_grad_(False)


@dataclass(frozen=True)
class _Training:
    """What the next epoch of a stack depends on."""

    parameters: Tensor
    stepper: torch.optim.Adam
    generators: Sequence[Generator]

    def state(self) -> dict[str, Any]:
        return {
            "numbers": self.parameters,
            "moments": self.stepper.state.get(self.parameters, {}),
            "generators": [generator.get_state() for generator in self.generators],
        }

    def resume(self, state: dict[str, Any]) -> None:
        self.parameters.copy_(state["numbers"])
        if state["moments"]:
            self.stepper.state[self.parameters] = state["moments"]
        for generator, generator_state in zip(self.generators, state["generators"], strict=True):
            generator.set_state(generator_state)


def _linear_layers(network: nn.Sequential) -> list[nn.Linear]:
    modules = list(network)
    linear = [module for module in modules[::2] if isinstance(module, nn.Linear) and module.bias is not None]
    between = [module for module in modules[1::2] if isinstance(module, nn.ReLU)]
    if len(linear) + len(between) != len(modules) or len(linear) != len(between) + 1:
        raise ValueError("only linear layers with a bias and a ReLU between them can be trained as a stack")
    return linear


def _stack_size(layers: Sequence[nn.Linear], rows: int) -> int:
    """How many networks of these layers are trained at once. Counts parameters with gradients and Adam's two means, and
    outputs with their gradients."""
    numbers = sum(4 * layer.weight.numel() + 2 * rows * layer.out_features for layer in layers)
    return max(1, STACK_BYTES // (numbers * layers[0].weight.element_size()))


def _batches(
    x: Tensor, label: Tensor, classes: int, batch: int, generators: Sequence[Generator]
) -> Iterator[tuple[Tensor, Tensor]]:
    """One epoch in batches, split as in ``fit``: rows (K, batch, d) in each network's order, and the gradient of the
    mean cross entropy at log probabilities (K, batch, classes), which does not depend on the network."""
    orders = torch.stack([torch.randperm(len(label), generator=generator) for generator in generators]).to(x.device)
    starts = torch.arange(len(x), device=x.device)[:, None] * len(label)
    rows = x.flatten(0, 1).index_select(0, (orders + starts).flatten()).view_as(x)
    gradients = x.new_zeros(*orders.shape, classes).scatter_(2, label.to(x.device)[orders][:, :, None], -1)
    sizes = [part.shape[-1] for part in split_batches(orders, batch)]
    for inputs, gradient in zip(rows.split(sizes, dim=1), gradients.split(sizes, dim=1), strict=True):
        yield inputs, gradient / gradient.shape[1]


class _Stack:
    """K networks of one shape. The k-th network's weights of a layer are ``weight[k]`` of (K, out, in), its biases
    ``bias[k]`` of (K, 1, out). All are views of the flat ``parameters``, their gradients of its ``grad``."""

    def __init__(self, networks: Sequence[Sequence[nn.Linear]]) -> None:
        self.networks = networks
        tensors = [tensor for layer in zip(*networks, strict=True) for tensor in _stacked(layer)]
        self.parameters = torch.cat([tensor.flatten() for tensor in tensors])
        self.parameters.grad = torch.empty_like(self.parameters)
        self.weights, self.biases = _views(self.parameters, tensors)
        self.weight_gradients, self.bias_gradients = _views(self.parameters.grad, tensors)
        self.classes = self.biases[-1].shape[-1]
        self.buffers: dict[int, tuple[list[Tensor], list[Tensor]]] = {}

    def buffers_for(self, rows: int) -> tuple[list[Tensor], list[Tensor]]:
        """For one size of batch: the layers' outputs, and the loss's gradients at them.

        Allocated once: together they are larger than what an allocator caches, and clearing new pages in every step
        takes as long as the arithmetic.
        """
        if rows not in self.buffers:
            outputs = [bias.new_empty(len(bias), rows, bias.shape[-1]) for bias in self.biases]
            self.buffers[rows] = outputs, [torch.empty_like(output) for output in outputs[:-1]]
        return self.buffers[rows]

    def differentiate(self, x: Tensor, loss_gradient: Tensor) -> None:
        """Set gradients to those of each network's mean cross entropy over rows (K, batch, d), without autograd."""
        outputs, gradients = self.buffers_for(x.shape[1])
        for before, output, weight, bias in zip([x, *outputs[:-1]], outputs, self.weights, self.biases, strict=True):
            torch.baddbmm(bias, before, weight.transpose(1, 2), out=output)
            if output is not outputs[-1]:
                output.relu_()
        gradient = _softmax_backward(outputs[-1], loss_gradient)
        for depth in reversed(range(len(outputs))):
            before = outputs[depth - 1] if depth else x
            torch.bmm(gradient.transpose(1, 2), before, out=self.weight_gradients[depth])
            torch.sum(gradient, 1, keepdim=True, out=self.bias_gradients[depth])
            if depth:
                gradient = torch.bmm(gradient, self.weights[depth], out=gradients[depth - 1])
                gradient.mul_(before.sign_())  # 1 where the ReLU is open, else 0

    def copy_back(self) -> None:
        for index, network in enumerate(self.networks):
            for layer, weight, bias in zip(network, self.weights, self.biases, strict=True):
                layer.weight.copy_(weight[index])
                layer.bias.copy_(bias[index, 0])


def _stacked(layers: Sequence[nn.Linear]) -> tuple[Tensor, Tensor]:
    return torch.stack([layer.weight for layer in layers]), torch.stack([layer.bias[None] for layer in layers])


def _views(flat: Tensor, like: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """Weights and biases, which alternate in ``like``, as views of one flat tensor."""
    parts = flat.split([tensor.numel() for tensor in like])
    shaped = [part.view(tensor.shape) for part, tensor in zip(parts, like, strict=True)]
    return shaped[::2], shaped[1::2]


def _softmax_backward(logits: Tensor, gradient: Tensor) -> Tensor:
    """The loss's gradient at logits, from the one at log probabilities."""
    log_probabilities = torch.log_softmax(logits, -1)
    result: Tensor = torch.ops.aten._log_softmax_backward_data(gradient, log_probabilities, -1, logits.dtype)
    return result
