"""Relevance, propagated from a transformer's output back to its attention (Chefer, Gur and Wolf, CVPR 2021).

While the model runs, its calls are replaced by functions whose "gradient" is the relevance of their inputs. Operations
that only move numbers (views, permutations, slices, concatenations) pass relevance on by their own gradient, and a
tensor that is used twice gets the sum. Constants take no relevance: all weights and what is computed from them alone.
After the run, the autograd graph shows whether the model computed anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import Node, get_gradient_edge

from assay.core.errors import NotApplicable
from assay.kit.attention import AttentionRecorder
from assay.kit.backward.graph import operation

EPSILON = 1e-9  # added to the size of denominators
ACTIVATIONS = ("relu", "gelu", "silu", "elu", "selu", "leaky_relu", "tanh", "sigmoid")
NORMS = ("softmax", "layer_norm", "batch_norm")
ONE_TO_ONE = (*ACTIVATIONS, *NORMS, "neg")
LAYERS = ("linear", "conv1d", "conv2d", "conv3d")
PRODUCTS = ("matmul", "bmm", "mm")
SUMS = ("add", "sub", "rsub")
SCALINGS = ("mul", "div")
MEANS = ("mean", "sum")
# The graph nodes of operations that only move numbers.
MOVES = """View UnsafeView ReshapeAlias Alias Clone ToCopy T Transpose Permute AsStrided Expand Squeeze Unsqueeze Slice
    Select Split SplitWithSizes Chunk Unbind Index IndexSelect IndexPut Gather Cat Stack Repeat Roll Flip ConstantPadNd
    MaskedFill Where torch::autograd::CopySlices torch::autograd::CopyBackwards"""

Call = Callable[..., Tensor]
# call, inputs, relevance of the output -> relevance of each input
Rule = Callable[[Call, tuple[Tensor, ...], Tensor], tuple[Tensor, ...]]


def attention_relevance(model: nn.Module, rows: Tensor, target: Tensor, start: int) -> list[Tensor]:
    """The relevance (N, heads, S, S) of the attention in every layer from ``start`` on; the target's output has 1.

    NotApplicable where the model computes something that has no rule.
    """
    with torch.enable_grad():
        scope = RelevanceScope(len(rows))
        with scope:
            outputs = model(rows.detach().requires_grad_())
        layers = scope.recorded[start:]
        if unknown := sorted(_operations_between(outputs, layers) - {RelevanceCall.__name__, *MOVES.split()}):
            raise NotApplicable(f"needs layers that its rules cover, and the model computes {', '.join(unknown)}")
        if layers and layers[0].shape[-1] == len(rows):
            # Sums find the axis of samples by its length: add a sample, so that samples and positions differ in number.
            more_rows, more_targets = (torch.cat([values, values[-1:]]) for values in (rows, target))
            return [
                layer_relevance[:-1] for layer_relevance in attention_relevance(model, more_rows, more_targets, start)
            ]
        total = outputs.gather(1, target.unsqueeze(1)).sum()
        return scope.matrices(list(torch.autograd.grad(total, layers, materialize_grads=True)))


class RelevanceCall(torch.autograd.Function):
    """A call whose "gradient" is relevance, defined by a rule."""

    @staticmethod
    def forward(ctx: Any, call: Call, rule: Rule, *inputs: Tensor) -> Tensor:
        ctx.save_for_backward(*inputs)
        ctx.call, ctx.rule = call, rule
        output = call(*inputs)
        return output.clone() if output._is_view() else output  # the model may modify it in place

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return None, None, *ctx.rule(ctx.call, ctx.saved_tensors, grads[0])


def call_with_relevance(call: Call, rule: Rule, *inputs: Tensor) -> Tensor:
    return RelevanceCall.apply(call, rule, *inputs)  # type: ignore[no-untyped-call,no-any-return]


class RelevanceScope(AttentionRecorder):
    """A scope in which calls propagate relevance. Exactly the tensors that depend on the input require gradients."""

    def run_call(self, name: str, func: Any, args: Any, kwargs: Any) -> Any:
        args, kwargs = _without_gradients(args), {key: _without_gradients(value) for key, value in kwargs.items()}
        replacement = self._replacement(name, args, kwargs)
        if replacement is None:
            return func(*args, **kwargs)
        if not _in_place(func, kwargs):
            return replacement(func, args, kwargs)

        def on_copy(first: Tensor, *others: Any, **named: Any) -> Tensor:
            return func(first.clone(), *others, **named)  # type: ignore[no-any-return]

        return args[0].copy_(replacement(on_copy, (args[0].clone(), *args[1:]), kwargs))

    def _replacement(self, name: str, args: Any, kwargs: Any) -> Callable[[Any, Any, Any], Tensor] | None:
        """What runs in place of the call; None if it runs unchanged.

        Of unchanged calls, ``attention_relevance`` refuses those that do more than move numbers.
        """
        positions = [position for position, value in enumerate(args) if _depends_on_input(value)]
        if any(map(_depends_on_input, kwargs.values())):
            return None
        if name in ONE_TO_ONE + MEANS and positions == [0]:
            return partial(_function_with_rule, _pass_all if name in ONE_TO_ONE else _proportional)
        if name in LAYERS and positions == [0]:
            return _layer_with_rule
        if name in PRODUCTS and len(args) == 2 and positions:
            return _product_with_rule
        if name == "einsum" and len(args) == 3 and positions:
            return lambda func, args, _: _product_with_rule(partial(func, args[0]), args[1:], {})
        if name in SUMS and positions == [0, 1] and not kwargs:
            return partial(_sum_with_rule, self.rows)
        if name in SUMS + SCALINGS and len(positions) == 1 and not kwargs and (name, positions) != ("div", [1]):
            return partial(_constant_with_rule, positions[0], name in SCALINGS)
        return None


def _function_with_rule(rule: Rule, func: Any, args: Any, kwargs: Any) -> Tensor:
    return call_with_relevance(lambda values: func(values, *args[1:], **kwargs), rule, args[0])


def _layer_with_rule(func: Any, args: Any, kwargs: Any) -> Tensor:
    """A layer; its bias takes no relevance."""
    named = {key: value for key, value in kwargs.items() if key != "bias"}

    def unbiased(values: Tensor, weight: Tensor) -> Tensor:
        return func(values, weight, None, *args[3:], **named)  # type: ignore[no-any-return]

    return call_with_relevance(
        lambda values: func(values, *args[1:], **kwargs), partial(_positive_only, unbiased, args[1]), args[0]
    )


def _product_with_rule(func: Any, factors: Any, _kwargs: Any) -> Tensor:
    """A product: two feature maps get half each; with a constant factor it is a layer."""
    left, right = factors
    if _depends_on_input(left) and _depends_on_input(right):
        return call_with_relevance(func, _proportional_halves, left, right)
    if _depends_on_input(left):
        return call_with_relevance(lambda values: func(values, right), partial(_positive_only, func, right), left)
    return call_with_relevance(
        lambda values: func(left, values), partial(_positive_only, lambda x, w: func(w, x), left), right
    )


def _sum_with_rule(rows: int, func: Any, args: Any, _kwargs: Any) -> Tensor:
    left, right = torch.broadcast_tensors(*args)
    return call_with_relevance(func, partial(_balanced, _sample_axis(left.shape, rows)), left, right)


def _constant_with_rule(position: int, scaling: bool, func: Any, args: Any, _kwargs: Any) -> Tensor:
    """A feature map plus, minus, times or over a constant; a factor of 0 passes nothing on."""
    values, constant = args[position], args[1 - position]
    shape = torch.broadcast_shapes(values.shape, getattr(constant, "shape", ()))

    def rule(_call: Call, _inputs: tuple[Tensor, ...], relevance: Tensor) -> tuple[Tensor]:
        return (relevance * (constant != 0) if scaling else relevance,)

    call = (lambda values: func(values, constant)) if position == 0 else partial(func, constant)
    return call_with_relevance(call, rule, values.expand(shape))


def _pass_all(_call: Call, _inputs: tuple[Tensor, ...], relevance: Tensor) -> tuple[Tensor]:
    return (relevance,)


def _proportional(call: Call, inputs: tuple[Tensor, ...], relevance: Tensor) -> tuple[Tensor, ...]:
    """In proportion to contributions to the output, for calls that are linear in each input."""
    with torch.enable_grad():
        leaves = [values.detach().requires_grad_() for values in inputs]
        output = call(*leaves)
        slopes = torch.autograd.grad(output, leaves, _stable_quotient(relevance, output.detach()))
    return tuple(values * slope for values, slope in zip(inputs, slopes, strict=True))


def _proportional_halves(call: Call, inputs: tuple[Tensor, ...], relevance: Tensor) -> tuple[Tensor, ...]:
    return tuple(share / 2 for share in _proportional(call, inputs, relevance))


def _balanced(axis: int, call: Call, inputs: tuple[Tensor, ...], relevance: Tensor) -> tuple[Tensor, ...]:
    """Proportional shares, scaled: an input's total in a sample is proportional to the size of its summed shares."""
    other_axes = [index for index in range(relevance.dim()) if index != axis]
    shares = _proportional(call, inputs, relevance)
    sums = [share.sum(dim=other_axes, keepdim=True) for share in shares]
    size = sums[0].abs() + sums[1].abs()
    part = torch.where(size == 0, 0, relevance.sum(dim=other_axes, keepdim=True) / size)
    return tuple(share * total.sign() * part for share, total in zip(shares, sums, strict=True))


def _positive_only(
    unbiased: Call, weight: Tensor, _call: Call, inputs: tuple[Tensor, ...], relevance: Tensor
) -> tuple[Tensor]:
    """LRP with alpha 1 and beta 0: in proportion to positive contributions."""
    with torch.enable_grad():
        above, below = (part.detach().requires_grad_() for part in (inputs[0].clamp(min=0), inputs[0].clamp(max=0)))
        output = unbiased(above, weight.clamp(min=0)) + unbiased(below, weight.clamp(max=0))
        slopes = torch.autograd.grad(output, (above, below), _stable_quotient(relevance, output.detach()))
    return ((above * slopes[0] + below * slopes[1]).detach(),)


def _stable_quotient(relevance: Tensor, total: Tensor) -> Tensor:
    """The quotient, with a stabilised denominator; 0 where the denominator is 0."""
    return torch.where(total == 0, 0, relevance / (total + EPSILON * total.sign()))


def _depends_on_input(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


def _without_gradients(value: Any) -> Any:
    """The value; parameters of the model, also in lists and tuples, are detached."""
    if isinstance(value, nn.Parameter):
        return value.detach()
    return type(value)(map(_without_gradients, value)) if type(value) in (list, tuple) else value


def _in_place(func: Any, kwargs: Any) -> bool:
    name = func.__name__
    return bool(kwargs.get("inplace")) or (name.endswith("_") and not name.endswith("__"))


def _sample_axis(shape: torch.Size, rows: int) -> int:
    """The axis of the samples: the first, or the second after positions."""
    for axis, size in enumerate(shape[:2]):
        if size == rows:
            return axis
    raise NotApplicable(f"needs sums of feature maps that keep samples apart, and the model adds up {tuple(shape)}")


def _operations_between(output: Tensor, layers: Iterable[Tensor]) -> set[str]:
    """The operations between attention and the output."""
    # Whether a node's result depends on the attention of these layers.
    reaches: dict[Node, bool] = {get_gradient_edge(attention).node: True for attention in layers}
    operations: set[str] = set()
    todo = [] if output.grad_fn is None else [output.grad_fn]
    while todo:
        inputs = [node for node, _ in todo[-1].next_functions if node is not None]
        if missing := [node for node in inputs if node not in reaches]:
            todo += missing
            continue
        node = todo.pop()
        if node not in reaches:
            reaches[node] = any(reaches[node] for node in inputs)
            operations |= {operation(node)} if reaches[node] else set()
    return operations
