"""The operations between a model's input and its output, read from the autograd graph.

Rules that rewrite the backward pass are correct only where they cover every non-linear operation. The graph shows all
of them, whether a module, a function or compiled code computes them. It does not show masks made by comparisons
(``x * (x > 0)``): autograd treats them as constants.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator

from torch import Tensor
from torch.autograd.graph import Node


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Linear in all of their inputs taken together.
LINEAR = _words(
    """Add Sub Rsub Neg Sum Mean Cumsum View UnsafeView ReshapeAlias Alias Clone ToCopy T Transpose Permute AsStrided
    Expand Squeeze Unsqueeze Slice Select Split SplitWithSizes Chunk Unbind Index IndexSelect IndexPut Gather Scatter
    Diagonal Cat Stack Repeat Roll Flip ConstantPadNd ReflectionPad1D ReflectionPad2D ReplicationPad1D ReplicationPad2D
    PixelShuffle PixelUnshuffle Im2Col Col2Im AvgPool2D AvgPool3D AdaptiveAvgPool2D AdaptiveAvgPool3D
    UpsampleNearest1D UpsampleNearest2D UpsampleLinear1D UpsampleBilinear2D UpsampleBicubic2D
    torch::autograd::CopySlices torch::autograd::CopyBackwards"""
)
# Linear in one input when the others do not depend on x.
PRODUCTS = _words(
    """Mul Mm Bmm Mv Dot Addmm Addmv Baddbmm Convolution MkldnnConvolution CudnnConvolution
    NativeBatchNorm CudnnBatchNorm MiopenBatchNorm"""
)
# Piecewise linear through the origin: f(z) = f'(z) z, so that the gradient passes on all relevance that it receives.
HOMOGENEOUS = _words(
    """Relu LeakyRelu PreluKernel Abs Max Amax Maximum MaskedFill MaxPool2DWithIndices MaxPool3DWithIndices
    AdaptiveMaxPool2D MkldnnMaxPool2D"""
)
# The graph nodes of the usual activations.
ACTIVATIONS = HOMOGENEOUS | _words("Hardtanh Threshold Tanh Sigmoid Gelu Silu Elu Softplus Softmax")


def nonlinear_operations(output: Tensor, source: Tensor, allowed: Collection[str]) -> list[str]:
    """The operations between ``source`` (a leaf) and ``output`` that are neither linear nor ``allowed``."""
    operations = {
        name for name, node, positions in _operations(output, source) if not _is_linear(name, node, positions)
    }
    return sorted(operations - set(allowed))


def operation(node: Node) -> str:
    """``AddmmBackward0`` -> ``Addmm``."""
    return re.sub(r"Backward\d*$", "", node.name())


def _operations(output: Tensor, source: Tensor) -> Iterator[tuple[str, Node, list[int]]]:
    """Operations between the two, each with the positions of its inputs that depend on ``source``."""
    users = _users(output)
    positions: dict[Node, list[int]] = defaultdict(list)
    todo = [node for node in users if getattr(node, "variable", None) is source]
    while todo:
        for user, position in users[todo.pop()]:
            if user not in positions:
                todo.append(user)
            positions[user].append(position)
    yield from ((operation(node), node, inputs) for node, inputs in positions.items())


def _users(output: Tensor) -> dict[Node, list[tuple[Node, int]]]:
    """Which operations use a node's result, and as which of their inputs."""
    users: dict[Node, list[tuple[Node, int]]] = {}
    todo = [] if output.grad_fn is None else [output.grad_fn]
    users.update((node, []) for node in todo)
    while todo:
        user = todo.pop()
        for position, (node, _) in enumerate(user.next_functions):
            if node is None:
                continue
            if node not in users:
                users[node] = []
                todo.append(node)
            users[node].append((user, position))
    return users


def _is_linear(name: str, node: Node, positions: list[int]) -> bool:
    if name == "Div":
        return positions == [0]
    if getattr(node, "_saved_training", False):
        return False  # batch normalisation with statistics of the batch
    return name in LINEAR or (name in PRODUCTS and len(positions) == 1)
