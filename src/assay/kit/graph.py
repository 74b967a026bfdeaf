"""What a model computed: the operations between an input and an output, read from the autograd graph.

Rules that rewrite the backward pass are right only where they know every operation that is not linear. The graph shows
all of them, whether a module, a function or a compiled part made them. It does not show masks made by comparing
(``x * (x > 0)``): to autograd they are constants.
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
# Piecewise linear through the origin: f(z) = f'(z) z, so that the gradient passes on exactly what arrives.
HOMOGENEOUS = _words(
    """Relu LeakyRelu PreluKernel Abs Max Amax Maximum MaskedFill MaxPool2DWithIndices MaxPool3DWithIndices
    AdaptiveMaxPool2D MkldnnMaxPool2D"""
)
# What the usual activations leave in the graph.
ACTIVATIONS = HOMOGENEOUS | _words("Hardtanh Threshold Tanh Sigmoid Gelu Silu Elu Softplus Softmax")


def bends(output: Tensor, source: Tensor, known: Collection[str]) -> list[str]:
    """The operations between ``source`` (a leaf) and ``output`` that are neither linear nor ``known``."""
    found = {name for name, node, places in _operations(output, source) if not _linear(name, node, places)}
    return sorted(found - set(known))


def operation(node: Node) -> str:
    """``AddmmBackward0`` -> ``Addmm``."""
    return re.sub(r"Backward\d*$", "", node.name())


def _operations(output: Tensor, source: Tensor) -> Iterator[tuple[str, Node, list[int]]]:
    """Operations on the way, each with the places of its inputs that depend on ``source``."""
    users = _users(output)
    places: dict[Node, list[int]] = defaultdict(list)
    todo = [node for node in users if getattr(node, "variable", None) is source]
    while todo:
        for user, place in users[todo.pop()]:
            if user not in places:
                todo.append(user)
            places[user].append(place)
    yield from ((operation(node), node, found) for node, found in places.items())


def _users(output: Tensor) -> dict[Node, list[tuple[Node, int]]]:
    """Which operations use a node's result, and as which of their inputs."""
    users: dict[Node, list[tuple[Node, int]]] = {}
    todo = [] if output.grad_fn is None else [output.grad_fn]
    users.update((node, []) for node in todo)
    while todo:
        user = todo.pop()
        for place, (node, _) in enumerate(user.next_functions):
            if node is None:
                continue
            if node not in users:
                users[node] = []
                todo.append(node)
            users[node].append((user, place))
    return users


def _linear(name: str, node: Node, places: list[int]) -> bool:
    if name == "Div":
        return places == [0]
    if getattr(node, "_saved_training", False):
        return False  # batch normalisation by the batch's own statistics
    return name in LINEAR or (name in PRODUCTS and len(places) == 1)
