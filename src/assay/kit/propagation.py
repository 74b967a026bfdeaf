"""A module whose gradient at its input is relevance: layers follow the rules of layer-wise relevance propagation.

On the way back the gradient is relevance over value. That is what linear functions and functions of straight pieces
through the origin (ReLU, pooling, sums of two paths) pass on by themselves; a sum splits relevance in proportion to its
summands. Layers turn it into relevance, share it by their rule, and divide by their inputs again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from assay.core.errors import NotApplicable
from assay.kit.graph import HOMOGENEOUS, bends, operation
from assay.kit.rules import Answers, Asked, Ruled, replaced
from assay.kit.shares import ACTIVATIONS, LAYERS, Layer, Share, passed, quotient

# What may happen to the input before its first layer: it is shifted, scaled and reshaped, entry by entry.
ARITHMETIC = ("Add", "Sub", "Rsub", "Mul", "Div", "NativeBatchNorm", "CudnnBatchNorm", "MiopenBatchNorm")
MOVES = ("View", "UnsafeView", "ReshapeAlias", "Alias", "Clone", "ToCopy", "Squeeze", "Unsqueeze")
LEAVES = ("torch::autograd::AccumulateGrad", "Entered")

# The input, what a layer reads of it, and the slope between them, entry by entry -> the layer's rule.
First = Callable[[Tensor, Tensor, Tensor], Share]


class Entered(torch.autograd.Function):
    """The input, whose gradient is relevance: relevance over value, times value."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor) -> Tensor:
        ctx.save_for_backward(rows)
        return rows.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        rows: Tensor = ctx.saved_tensors[0]
        return rows * grads[0]


@dataclass(frozen=True, eq=False)
class Made:
    """The output of the latest layer, to tell whether a batch normalisation follows it."""

    output: Tensor
    version: int  # of the output: a change in place is something in between
    layer: Layer
    values: Tensor
    name: str


class Propagated(Ruled):
    """A module whose layers follow ``rules``, by the name of the function; those that read the input follow ``first``.

    A batch normalisation right after a layer is a part of it; elsewhere it is a layer of its own, its shift a bias. An
    input that is only shifted, scaled and reshaped before its first layer gets that layer's relevance.
    """

    def __init__(self, module: nn.Module, rules: Mapping[str, Share], first: First | None = None) -> None:
        super().__init__(module, dict.fromkeys(ACTIVATIONS, passed), {Entered.__name__, *HOMOGENEOUS})
        self.rules, self.first = rules, first

    def forward(self, rows: Tensor) -> Tensor:
        entered: Tensor = Entered.apply(rows)  # type: ignore[no-untyped-call]
        run = Run(rows, entered, self.rules, self.first)
        with Answers({**self.answers, **dict.fromkeys(LAYERS, run.layer), "batch_norm": run.batch_norm}):
            output: Tensor = self.module(entered)
        self.check(output, rows)
        if self.first is not None and not run.began:
            raise NotApplicable("needs a layer that reads the input, and something else comes before the first one")
        return output


class Run:
    """One run of the module."""

    def __init__(self, rows: Tensor, entered: Tensor, rules: Mapping[str, Share], first: First | None) -> None:
        self.rows, self.entered, self.rules, self.first = rows, entered, rules, first
        self.began = False  # a layer has read the input
        self.made: Made | None = None

    def layer(self, asked: Asked, values: Tensor) -> Tensor:
        if not values.requires_grad:
            return asked(values)
        layer = Layer.of(asked)
        output = self._handed(layer, values, asked.name)
        self.made = Made(output, output._version, layer, values, asked.name)
        return output

    def batch_norm(self, asked: Asked, values: Tensor) -> Tensor:
        made = self.made
        if made is None or made.output is not values or made.version != values._version:
            return asked(values)
        merged = _merged(made.layer, *asked.rest, **asked.named)
        return asked(values) if merged is None else self._handed(merged, made.values, made.name)

    def _handed(self, layer: Layer, values: Tensor, name: str) -> Tensor:
        rule = self.rules[name]
        if not self._is_input(values):
            return replaced(
                layer, values, lambda _, inputs, grad: quotient(_relevance(layer, inputs, grad, rule), inputs)
            )
        self.began = True
        read = values.detach().clone()  # the model may go on in place
        if self.first is not None:
            (slope,) = torch.autograd.grad(values.sum(), self.entered, retain_graph=True)
            rule = self.first(self.rows.detach().view_as(read), read, slope.view_as(read))
        return replaced(
            lambda _: layer(read), self.rows.view_as(read), lambda _, __, grad: _relevance(layer, read, grad, rule)
        )

    def _is_input(self, values: Tensor) -> bool:
        """Entry by entry the input, shifted and scaled."""
        same = values.numel() == self.rows.numel() and _keeps_entries(values)
        return same and not bends(values, self.rows, {Entered.__name__})


def _keeps_entries(values: Tensor) -> bool:
    """Nothing else than shifts, scalings and moves between the input and these values."""
    todo = [values.grad_fn]
    while todo:
        node = todo.pop()
        if node is None or operation(node) in LEAVES:
            continue
        if operation(node) not in ARITHMETIC + MOVES:
            return False
        todo.extend(parent for parent, _ in node.next_functions)
    return True


def _relevance(layer: Layer, values: Tensor, grad: Tensor, rule: Share) -> Tensor:
    return rule(layer, values, grad * layer(values))


def _merged(
    layer: Layer,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Layer | None:
    if training or running_mean is None or running_var is None:
        return None
    return layer.normed(running_mean, running_var, weight, bias, eps)
