"""Many small networks of one shape trained together: one batched matrix product in place of many small ones.

The loop of ``fit`` spends much of its time beside the arithmetic: on calls, on buffers that come and go, on an
optimiser that visits every tensor of every network. Convolutions have no batched product that pays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy

from assay.train.fit import cut


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
    same steps, up to the rounding of a batched product (none on the machines that were tried). All end frozen and in
    evaluation mode.
    """
    layers = [_linear_layers(network) for network in networks]
    stacks = [_Stack([own[depth] for own in layers]) for depth in range(len(layers[0]))]
    stepper = torch.optim.Adam([tensor for stack in stacks for tensor in (stack.weight, stack.bias)], lr=lr)
    rooms: dict[int, _Room] = {}
    flat = x.flatten(0, 1)
    begins = torch.arange(len(x))[:, None] * x.shape[1]
    with torch.no_grad():
        for _ in range(epochs):
            for rows in _batches(len(label), batch, generators):
                index = (rows + begins).to(x.device)
                seen = flat.index_select(0, index.flatten()).view(*rows.shape, -1)
                if rows.shape[1] not in rooms:
                    rooms[rows.shape[1]] = _Room(stacks, rows.shape[1])
                _gradients(stacks, rooms[rows.shape[1]], seen, label[rows.to(label.device)])
                stepper.step()
        for stack in stacks:
            stack.hand_back()
    for network in networks:
        network.eval().requires_grad_(False)


class _Stack:
    """The same layer of every network: weights (K, out, in), biases (K, 1, out), and room for their gradients."""

    def __init__(self, layers: Sequence[nn.Linear]) -> None:
        self.layers = layers
        self.weight = torch.stack([layer.weight.detach() for layer in layers])
        self.bias = torch.stack([layer.bias.detach()[None] for layer in layers])
        self.weight.grad, self.bias.grad = torch.empty_like(self.weight), torch.empty_like(self.bias)

    def forward(self, x: Tensor, answer: Tensor) -> Tensor:
        return torch.baddbmm(self.bias, x, self.weight.transpose(1, 2), out=answer)

    def backward(self, x: Tensor, slope: Tensor) -> None:
        """Gradients of the layer's own numbers, from its input and the loss's slope at its output."""
        torch.bmm(slope.transpose(1, 2), x, out=self.weight.grad)
        torch.sum(slope, 1, keepdim=True, out=self.bias.grad)

    def hand_back(self) -> None:
        for layer, weight, bias in zip(self.layers, self.weight, self.bias, strict=True):
            layer.weight.copy_(weight)
            layer.bias.copy_(bias[0])


def _linear_layers(network: nn.Sequential) -> list[nn.Linear]:
    modules = list(network)
    linear = [module for module in modules[::2] if isinstance(module, nn.Linear) and module.bias is not None]
    between = [module for module in modules[1::2] if isinstance(module, nn.ReLU)]
    if len(linear) + len(between) != len(modules) or len(linear) != len(between) + 1:
        raise ValueError("only linear layers with a bias and a ReLU between them can be trained as a stack")
    return linear


def _batches(count: int, batch: int, generators: Sequence[Generator]) -> Iterator[Tensor]:
    """One epoch: row numbers (K, batch), every network's own order cut as ``fit`` cuts it."""
    orders = torch.stack([torch.randperm(count, generator=generator) for generator in generators])
    yield from cut(orders, batch)


class _Room:
    """Buffers for one size of batch: what layers but the last answer, and the loss's slope there.

    Made once: together they are larger than what an allocator keeps at hand, and clearing new pages for every step
    takes as long as the arithmetic.
    """

    def __init__(self, stacks: Sequence[_Stack], rows: int) -> None:
        widths = [stack.weight.shape[:2] for stack in stacks]
        self.answers = [stacks[0].weight.new_empty(models, rows, width) for models, width in widths]
        self.slopes = [torch.empty_like(answer) for answer in self.answers[:-1]]


def _gradients(stacks: Sequence[_Stack], room: _Room, x: Tensor, label: Tensor) -> None:
    """Each network's gradient of its mean cross entropy over rows (K, batch, d), by hand."""
    seen = [x]
    for stack, answer in zip(stacks, room.answers, strict=True):
        seen.append(stack.forward(seen[-1], answer))
        if stack is not stacks[-1]:
            answer.relu_()
    slope = _loss_slope(seen.pop(), label)
    for depth in reversed(range(len(stacks))):
        stacks[depth].backward(seen[depth], slope)
        if depth:
            slope = torch.bmm(slope, stacks[depth].weight, out=room.slopes[depth - 1])
            slope.mul_(seen[depth].sign_())  # 1 where the ReLU let pass, else 0


def _loss_slope(logits: Tensor, label: Tensor) -> Tensor:
    """Of each network's mean cross entropy, at its logits (K, batch, classes)."""
    logits = logits.detach().requires_grad_()
    with torch.enable_grad():
        loss = cross_entropy(logits.flatten(0, 1), label.flatten(), reduction="sum") / label.shape[1]
    (slope,) = torch.autograd.grad(loss, logits)
    return slope
