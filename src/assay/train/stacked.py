"""Many small networks of one shape trained together: one batched matrix product in place of many small ones.

The loop of ``fit`` spends much of its time beside the arithmetic: on calls, on buffers that come and go, on an
optimiser that visits every tensor of every network. Convolutions have no batched product that pays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Generator, Tensor, nn

from assay.train.adam import FlatAdam
from assay.train.checkpoints import Checkpoints
from assay.train.fit import cut

STACK_BYTES = 4_000_000  # that the numbers of a stack may take on a CPU: larger ones leave its cache between two uses


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

    Networks are linear layers with a ReLU between them (``mlp``). Each sees the same batches as alone and takes the
    same steps, up to the rounding of a batched product: none for the networks of ``assay bench retraining``, some 1e-7
    after ten epochs where layers are of odd widths. All end frozen and in evaluation mode.
    A training that was stopped goes on as in ``fit``.
    """
    layers = [_linear_layers(network) for network in networks]
    size = _stack_size(layers[0], min(batch, len(label))) if x.device.type == "cpu" else len(networks)
    with torch.no_grad():
        for begin in range(0, len(networks), size):
            part = slice(begin, begin + size)
            stack = _Stack(layers[part])
            stepper = FlatAdam(stack.numbers, stack.slopes, lr)
            training = _Training(stack.numbers, stepper, generators[part])
            checkpoints = Checkpoints(training, x[part], label, epochs, batch, lr)
            for epoch in range(checkpoints.done, epochs):
                for seen, wanted in _batches(x[part], label, stack.classes, batch, generators[part]):
                    stack.differentiate(seen, wanted)
                    stepper.step()
                checkpoints.keep(epoch + 1)
            stack.hand_back()
    for network in networks:
        network.eval().requires_grad_(False)


@dataclass(frozen=True)
class _Training:
    """What the next epoch of a stack depends on."""

    numbers: Tensor
    stepper: FlatAdam
    generators: Sequence[Generator]

    def state(self) -> dict[str, Any]:
        return {
            "numbers": self.numbers,
            "means": self.stepper.means,
            "squares": self.stepper.squares,
            "steps": self.stepper.steps,
            "generators": [generator.get_state() for generator in self.generators],
        }

    def resume(self, state: dict[str, Any]) -> None:
        self.numbers.copy_(state["numbers"])
        self.stepper.means.copy_(state["means"])
        self.stepper.squares.copy_(state["squares"])
        self.stepper.steps = state["steps"]
        for generator, numbers in zip(self.generators, state["generators"], strict=True):
            generator.set_state(numbers)


def _linear_layers(network: nn.Sequential) -> list[nn.Linear]:
    modules = list(network)
    linear = [module for module in modules[::2] if isinstance(module, nn.Linear) and module.bias is not None]
    between = [module for module in modules[1::2] if isinstance(module, nn.ReLU)]
    if len(linear) + len(between) != len(modules) or len(linear) != len(between) + 1:
        raise ValueError("only linear layers with a bias and a ReLU between them can be trained as a stack")
    return linear


def _stack_size(layers: Sequence[nn.Linear], rows: int) -> int:
    """How many networks of these layers are trained at once: numbers with gradients and Adam's two means, answers
    with their slopes."""
    numbers = sum(4 * layer.weight.numel() + 2 * rows * layer.out_features for layer in layers)
    return max(1, STACK_BYTES // (numbers * layers[0].weight.element_size()))


def _batches(
    x: Tensor, label: Tensor, classes: int, batch: int, generators: Sequence[Generator]
) -> Iterator[tuple[Tensor, Tensor]]:
    """One epoch: rows (K, batch, d) in every network's own order, cut as ``fit`` cuts it, and the slope of the mean
    cross entropy at log probabilities (K, batch, classes), which does not depend on the network."""
    orders = torch.stack([torch.randperm(len(label), generator=generator) for generator in generators]).to(x.device)
    begins = torch.arange(len(x), device=x.device)[:, None] * len(label)
    rows = x.flatten(0, 1).index_select(0, (orders + begins).flatten()).view_as(x)
    wanted = x.new_zeros(*orders.shape, classes).scatter_(2, label.to(x.device)[orders][:, :, None], -1)
    sizes = [part.shape[-1] for part in cut(orders, batch)]
    for seen, slope in zip(rows.split(sizes, dim=1), wanted.split(sizes, dim=1), strict=True):
        yield seen, slope / slope.shape[1]


class _Stack:
    """K networks of one shape. The k-th's weights of a layer are ``weight[k]`` of (K, out, in), its biases ``bias[k]``
    of (K, 1, out); all of them are views of the flat ``numbers``, their gradients of the flat ``slopes``."""

    def __init__(self, networks: Sequence[Sequence[nn.Linear]]) -> None:
        self.networks = networks
        tensors = [tensor for layer in zip(*networks, strict=True) for tensor in _stacked(layer)]
        self.numbers = torch.cat([tensor.flatten() for tensor in tensors])
        self.slopes = torch.empty_like(self.numbers)
        self.weights, self.biases = _views(self.numbers, tensors)
        self.weight_slopes, self.bias_slopes = _views(self.slopes, tensors)
        self.classes = self.biases[-1].shape[-1]
        self.rooms: dict[int, tuple[list[Tensor], list[Tensor]]] = {}

    def room(self, rows: int) -> tuple[list[Tensor], list[Tensor]]:
        """For one size of batch: what layers answer, and the loss's slope there.

        Made once: together they are larger than what an allocator keeps at hand, and clearing new pages for every
        step takes as long as the arithmetic.
        """
        if rows not in self.rooms:
            answers = [bias.new_empty(len(bias), rows, bias.shape[-1]) for bias in self.biases]
            self.rooms[rows] = answers, [torch.empty_like(answer) for answer in answers[:-1]]
        return self.rooms[rows]

    def differentiate(self, x: Tensor, wanted: Tensor) -> None:
        """Set ``slopes`` to each network's gradient of its mean cross entropy over rows (K, batch, d), by hand."""
        answers, rooms = self.room(x.shape[1])
        for before, answer, weight, bias in zip([x, *answers[:-1]], answers, self.weights, self.biases, strict=True):
            torch.baddbmm(bias, before, weight.transpose(1, 2), out=answer)
            if answer is not answers[-1]:
                answer.relu_()
        slope = _through_softmax(answers[-1], wanted)
        for depth in reversed(range(len(answers))):
            before = answers[depth - 1] if depth else x
            torch.bmm(slope.transpose(1, 2), before, out=self.weight_slopes[depth])
            torch.sum(slope, 1, keepdim=True, out=self.bias_slopes[depth])
            if depth:
                slope = torch.bmm(slope, self.weights[depth], out=rooms[depth - 1])
                slope.mul_(before.sign_())  # 1 where the ReLU let pass, else 0

    def hand_back(self) -> None:
        for index, network in enumerate(self.networks):
            for layer, weight, bias in zip(network, self.weights, self.biases, strict=True):
                layer.weight.copy_(weight[index])
                layer.bias.copy_(bias[index, 0])


def _stacked(layers: Sequence[nn.Linear]) -> tuple[Tensor, Tensor]:
    return torch.stack([layer.weight for layer in layers]), torch.stack([layer.bias[None] for layer in layers])


def _views(flat: Tensor, like: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """Weights and biases, which take turns in ``like``, as parts of one flat tensor."""
    parts = flat.split([tensor.numel() for tensor in like])
    shaped = [part.view(tensor.shape) for part, tensor in zip(parts, like, strict=True)]
    return shaped[::2], shaped[1::2]


def _through_softmax(logits: Tensor, slope: Tensor) -> Tensor:
    """The loss's slope at logits, from the one at log probabilities."""
    chances = torch.log_softmax(logits, -1)
    found: Tensor = torch.ops.aten._log_softmax_backward_data(slope, chances, -1, logits.dtype)
    return found
