"""Relevance, handed from a transformer's output back to its attention (Chefer, Gur and Wolf, CVPR 2021).

While the model runs, its calls are answered by functions whose "gradient" is the relevance that they hand to their
inputs. Whatever only moves numbers around (views, permutations, cut and paste) hands it on by its own gradient, and
what is used twice gets the sum. A constant takes nothing: all weights and whatever is computed from them alone. When
the model is done, the autograd graph tells whether anything else happened on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import Node, get_gradient_edge

from assay.core.errors import NotApplicable
from assay.kit.attention import Watched
from assay.kit.graph import operation

EPSILON = 1e-9  # keeps small denominators from blowing up
ACTIVATIONS = ("relu", "gelu", "silu", "elu", "selu", "leaky_relu", "tanh", "sigmoid")
NORMS = ("softmax", "layer_norm", "batch_norm")
ONE_TO_ONE = (*ACTIVATIONS, *NORMS, "neg")
LAYERS = ("linear", "conv1d", "conv2d", "conv3d")
PRODUCTS = ("matmul", "bmm", "mm")
SUMS = ("add", "sub", "rsub")
SCALINGS = ("mul", "div")
MEANS = ("mean", "sum")
# What is left in the graph of calls that only move numbers around.
MOVES = """View UnsafeView ReshapeAlias Alias Clone ToCopy T Transpose Permute AsStrided Expand Squeeze Unsqueeze Slice
    Select Split SplitWithSizes Chunk Unbind Index IndexSelect IndexPut Gather Cat Stack Repeat Roll Flip ConstantPadNd
    MaskedFill Where torch::autograd::CopySlices torch::autograd::CopyBackwards"""

Call = Callable[..., Tensor]
Rule = Callable[[Call, tuple[Tensor, ...], Tensor], tuple[Tensor, ...]]  # call, inputs, relevance -> of each input


def relevance(model: nn.Module, rows: Tensor, target: Tensor, start: int) -> list[Tensor]:
    """The relevance (N, heads, S, S) of the attention in every layer from ``start`` on: 1 at the target's output.

    NotApplicable where the model does something on the way that has no rule.
    """
    with torch.enable_grad():
        scope = Handing(len(rows))
        with scope:
            outputs = model(rows.detach().requires_grad_())
        layers = scope.noted[start:]
        if unknown := sorted(_between(outputs, layers) - {Handed.__name__, *MOVES.split()}):
            raise NotApplicable(f"needs layers that its rules cover, and the model computes {', '.join(unknown)}")
        if layers and layers[0].shape[-1] == len(rows):
            # Sums tell samples from positions by their number: one sample more.
            more, again = (torch.cat([values, values[-1:]]) for values in (rows, target))
            return [found[:-1] for found in relevance(model, more, again, start)]
        total = outputs.gather(1, target.unsqueeze(1)).sum()
        return scope.matrices(list(torch.autograd.grad(total, layers, materialize_grads=True)))


class Handed(torch.autograd.Function):
    """A call whose "gradient" is what a rule says."""

    @staticmethod
    def forward(ctx: Any, call: Call, rule: Rule, *inputs: Tensor) -> Tensor:
        ctx.save_for_backward(*inputs)
        ctx.call, ctx.rule = call, rule
        output = call(*inputs)
        return output.clone() if output._is_view() else output  # the model may go on in place

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return None, None, *ctx.rule(ctx.call, ctx.saved_tensors, grads[0])


def handed(call: Call, rule: Rule, *inputs: Tensor) -> Tensor:
    return Handed.apply(call, rule, *inputs)  # type: ignore[no-untyped-call,no-any-return]


class Handing(Watched):
    """A scope in which calls hand on relevance. What depends on the input requires gradients here, and only that."""

    def answer(self, name: str, func: Any, args: Any, kwargs: Any) -> Any:
        args, kwargs = _settled(args), {key: _settled(value) for key, value in kwargs.items()}
        rule = self._rule(name, args, kwargs)
        if rule is None:
            return func(*args, **kwargs)
        if not _in_place(func, kwargs):
            return rule(func, args, kwargs)
        fresh = (args[0].clone(), *args[1:])
        return args[0].copy_(rule(lambda first, *rest, **named: func(first.clone(), *rest, **named), fresh, kwargs))

    def _rule(self, name: str, args: Any, kwargs: Any) -> Callable[[Any, Any, Any], Tensor] | None:
        """How to answer the call; None: as it is, and if that is more than a move, the graph will tell."""
        places = [place for place, value in enumerate(args) if _depends(value)]
        if any(map(_depends, kwargs.values())):
            return None
        if name in ONE_TO_ONE + MEANS and places == [0]:
            return partial(_function, _everything if name in ONE_TO_ONE else _shares)
        if name in LAYERS and places == [0]:
            return _layer
        if name in PRODUCTS and len(args) == 2 and places:
            return _product
        if name == "einsum" and len(args) == 3 and places:
            return lambda func, args, _: _product(partial(func, args[0]), args[1:], {})
        if name in SUMS and places == [0, 1] and not kwargs:
            return partial(_sum, self.rows)
        if name in SUMS + SCALINGS and len(places) == 1 and not kwargs and (name, places) != ("div", [1]):
            return partial(_with_constant, places[0], name in SCALINGS)
        return None


def _function(rule: Rule, func: Any, args: Any, kwargs: Any) -> Tensor:
    return handed(lambda values: func(values, *args[1:], **kwargs), rule, args[0])


def _layer(func: Any, args: Any, kwargs: Any) -> Tensor:
    """A layer's bias takes nothing."""
    named = {key: value for key, value in kwargs.items() if key != "bias"}

    def unbiased(values: Tensor, weight: Tensor) -> Tensor:
        return func(values, weight, None, *args[3:], **named)  # type: ignore[no-any-return]

    return handed(lambda values: func(values, *args[1:], **kwargs), partial(_positive, unbiased, args[1]), args[0])


def _product(func: Any, factors: Any, _kwargs: Any) -> Tensor:
    """Of two feature maps each gets half; a constant factor makes a layer of it."""
    left, right = factors
    if _depends(left) and _depends(right):
        return handed(func, _halves, left, right)
    if _depends(left):
        return handed(lambda values: func(values, right), partial(_positive, func, right), left)
    return handed(lambda values: func(left, values), partial(_positive, lambda x, w: func(w, x), left), right)


def _sum(rows: int, func: Any, args: Any, _kwargs: Any) -> Tensor:
    left, right = torch.broadcast_tensors(*args)
    return handed(func, partial(_balanced, _axis(left.shape, rows)), left, right)


def _with_constant(place: int, scaling: bool, func: Any, args: Any, _kwargs: Any) -> Tensor:
    """A feature map plus, minus, times or over a constant; a factor of 0 hands nothing on."""
    values, constant = args[place], args[1 - place]
    shape = torch.broadcast_shapes(values.shape, getattr(constant, "shape", ()))

    def rule(_call: Call, _inputs: tuple[Tensor, ...], received: Tensor) -> tuple[Tensor]:
        return (received * (constant != 0) if scaling else received,)

    call = (lambda values: func(values, constant)) if place == 0 else partial(func, constant)
    return handed(call, rule, values.expand(shape))


def _everything(_call: Call, _inputs: tuple[Tensor, ...], received: Tensor) -> tuple[Tensor]:
    return (received,)


def _shares(call: Call, inputs: tuple[Tensor, ...], received: Tensor) -> tuple[Tensor, ...]:
    """Each input by what it contributes to the output: for calls that are linear in each input."""
    with torch.enable_grad():
        leaves = [values.detach().requires_grad_() for values in inputs]
        output = call(*leaves)
        slopes = torch.autograd.grad(output, leaves, _over(received, output.detach()))
    return tuple(values * slope for values, slope in zip(inputs, slopes, strict=True))


def _halves(call: Call, inputs: tuple[Tensor, ...], received: Tensor) -> tuple[Tensor, ...]:
    return tuple(share / 2 for share in _shares(call, inputs, received))


def _balanced(axis: int, call: Call, inputs: tuple[Tensor, ...], received: Tensor) -> tuple[Tensor, ...]:
    """Shares, scaled so that each input gets a part of the sample's total, by the size of what it has."""
    others = [other for other in range(received.dim()) if other != axis]
    shares = _shares(call, inputs, received)
    sums = [share.sum(dim=others, keepdim=True) for share in shares]
    size = sums[0].abs() + sums[1].abs()
    part = torch.where(size == 0, 0, received.sum(dim=others, keepdim=True) / size)
    return tuple(share * total.sign() * part for share, total in zip(shares, sums, strict=True))


def _positive(bare: Call, weight: Tensor, _call: Call, inputs: tuple[Tensor, ...], received: Tensor) -> tuple[Tensor]:
    """LRP with alpha 1 and beta 0: shares among the positive contributions."""
    with torch.enable_grad():
        above, below = (part.detach().requires_grad_() for part in (inputs[0].clamp(min=0), inputs[0].clamp(max=0)))
        output = bare(above, weight.clamp(min=0)) + bare(below, weight.clamp(max=0))
        slopes = torch.autograd.grad(output, (above, below), _over(received, output.detach()))
    return ((above * slopes[0] + below * slopes[1]).detach(),)


def _over(received: Tensor, total: Tensor) -> Tensor:
    """The quotient, 0 where there is nothing to be shared."""
    return torch.where(total == 0, 0, received / (total + EPSILON * total.sign()))


def _depends(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


def _settled(value: Any) -> Any:
    """The model's parameters without gradients, also in lists of tensors."""
    if isinstance(value, nn.Parameter):
        return value.detach()
    return type(value)(map(_settled, value)) if type(value) in (list, tuple) else value


def _in_place(func: Any, kwargs: Any) -> bool:
    name = func.__name__
    return bool(kwargs.get("inplace")) or (name.endswith("_") and not name.endswith("__"))


def _axis(shape: torch.Size, rows: int) -> int:
    """Where the samples are: first, or second after positions."""
    for axis, size in enumerate(shape[:2]):
        if size == rows:
            return axis
    raise NotApplicable(f"needs sums of feature maps that keep samples apart, and the model adds up {tuple(shape)}")


def _between(output: Tensor, layers: Iterable[Tensor]) -> set[str]:
    """The operations that lead from attention to the output."""
    reaches: dict[Node, bool] = {get_gradient_edge(attention).node: True for attention in layers}
    found: set[str] = set()
    todo = [] if output.grad_fn is None else [output.grad_fn]
    while todo:
        inputs = [node for node, _ in todo[-1].next_functions if node is not None]
        if missing := [node for node in inputs if node not in reaches]:
            todo += missing
            continue
        node = todo.pop()
        if node not in reaches:
            reaches[node] = any(reaches[node] for node in inputs)
            found |= {operation(node)} if reaches[node] else set()
    return found
