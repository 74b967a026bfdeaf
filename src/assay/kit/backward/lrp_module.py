"""A module whose gradient at its input is relevance: layers follow the rules of layer-wise relevance propagation.

In the backward pass the gradient is relevance over value. Linear functions and piecewise linear functions through the
origin (ReLU, pooling, sums of two paths) keep this with their own gradient; a sum splits relevance in proportion to its
summands. Layers multiply it by their output, distribute the relevance by their rule, and divide by their input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from assay.core.errors import NotApplicable
from assay.kit.backward.graph import HOMOGENEOUS, nonlinear_operations, operation
from assay.kit.backward.lrp_rules import ACTIVATIONS, LAYERS, Layer, LayerRule, activation_passing_relevance, quotient
from assay.kit.backward.rules import CallReplacements, ModelCall, RuledModule, pure_call_with_rule

# Operations allowed between the input and its first layer: they shift, scale or reshape it, entry by entry.
ARITHMETIC = ("Add", "Sub", "Rsub", "Mul", "Div", "NativeBatchNorm", "CudnnBatchNorm", "MiopenBatchNorm")
MOVES = ("View", "UnsafeView", "ReshapeAlias", "Alias", "Clone", "ToCopy", "Squeeze", "Unsqueeze")
LEAVES = ("torch::autograd::AccumulateGrad", "RelevanceInput")

# The model's input, the layer's input, and the slope between them, entry by entry -> the layer's rule.
InputRule = Callable[[Tensor, Tensor, Tensor], LayerRule]


class RelevanceInput(torch.autograd.Function):
    """The model's input. Its gradient is relevance: relevance over value, times value."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor) -> Tensor:
        ctx.save_for_backward(rows)
        return rows.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        rows: Tensor = ctx.saved_tensors[0]
        return rows * grads[0]


@dataclass(frozen=True, eq=False)
class LatestLayer:
    """The layer that ran last, to recognise a batch normalisation right after it."""

    output: Tensor
    version: int  # of the output: a change in place raises it
    layer: Layer
    values: Tensor
    name: str


class LrpModule(RuledModule):
    """A module whose layers follow ``rules``, by function name; layers that read the input follow ``input_rule``.

    A batch normalisation right after a layer is merged into it; elsewhere it is a layer of its own, its shift a bias.
    An input that is only shifted, scaled and reshaped before its first layer gets that layer's relevance.
    """

    def __init__(self, module: nn.Module, rules: Mapping[str, LayerRule], input_rule: InputRule | None = None) -> None:
        super().__init__(
            module, dict.fromkeys(ACTIVATIONS, activation_passing_relevance), {RelevanceInput.__name__, *HOMOGENEOUS}
        )
        self.rules, self.input_rule = rules, input_rule

    def forward(self, rows: Tensor) -> Tensor:
        model_input: Tensor = RelevanceInput.apply(rows)  # type: ignore[no-untyped-call]
        forward_pass = ForwardPass(rows, model_input, self.rules, self.input_rule)
        with CallReplacements(
            {**self.replacements, **dict.fromkeys(LAYERS, forward_pass.layer), "batch_norm": forward_pass.batch_norm}
        ):
            output: Tensor = self.module(model_input)
        self.require_covered(output, rows)
        if self.input_rule is not None and not forward_pass.input_was_read:
            raise NotApplicable("needs a layer that reads the input, and something else comes before the first one")
        return output


class ForwardPass:
    """One forward pass of the module."""

    def __init__(
        self, rows: Tensor, model_input: Tensor, rules: Mapping[str, LayerRule], input_rule: InputRule | None
    ) -> None:
        self.rows, self.model_input, self.rules, self.input_rule = rows, model_input, rules, input_rule
        self.input_was_read = False  # by a layer
        self.latest: LatestLayer | None = None

    def layer(self, call: ModelCall, values: Tensor) -> Tensor:
        if not values.requires_grad:
            return call(values)
        layer = Layer.of(call)
        output = self._apply(layer, values, call.name)
        self.latest = LatestLayer(output, output._version, layer, values, call.name)
        return output

    def batch_norm(self, call: ModelCall, values: Tensor) -> Tensor:
        latest = self.latest
        if latest is None or latest.output is not values or latest.version != values._version:
            return call(values)
        joint = _merged(latest.layer, *call.arguments, **call.keywords)
        return call(values) if joint is None else self._apply(joint, latest.values, latest.name)

    def _apply(self, layer: Layer, values: Tensor, name: str) -> Tensor:
        rule = self.rules[name]
        if not self._is_input(values):
            return pure_call_with_rule(
                layer, values, lambda _, inputs, grad: quotient(_relevance(layer, inputs, grad, rule), inputs)
            )
        self.input_was_read = True
        layer_input = values.detach().clone()  # the model may modify the values in place
        if self.input_rule is not None:
            (slope,) = torch.autograd.grad(values.sum(), self.model_input, retain_graph=True)
            rule = self.input_rule(self.rows.detach().view_as(layer_input), layer_input, slope.view_as(layer_input))
        return pure_call_with_rule(
            lambda _: layer(layer_input),
            self.rows.view_as(layer_input),
            lambda _, __, grad: _relevance(layer, layer_input, grad, rule),
        )

    def _is_input(self, values: Tensor) -> bool:
        """Whether the values are the input, shifted and scaled entry by entry."""
        same = values.numel() == self.rows.numel() and _keeps_entries(values)
        return same and not nonlinear_operations(values, self.rows, {RelevanceInput.__name__})


def _keeps_entries(values: Tensor) -> bool:
    """Whether only shifts, scalings and reshapes lie between the input and these values."""
    todo = [values.grad_fn]
    while todo:
        node = todo.pop()
        if node is None or operation(node) in LEAVES:
            continue
        if operation(node) not in ARITHMETIC + MOVES:
            return False
        todo.extend(parent for parent, _ in node.next_functions)
    return True


def _relevance(layer: Layer, values: Tensor, grad: Tensor, rule: LayerRule) -> Tensor:
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
    return layer.merged_with_batch_norm(running_mean, running_var, weight, bias, eps)
