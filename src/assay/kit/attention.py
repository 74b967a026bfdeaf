"""Attention as a model computes it: the weight of each position for each other, layer by layer.

The model itself is not modified. While it runs, attention that is one call (``scaled_dot_product_attention``,
``nn.MultiheadAttention``) is computed step by step, and every softmax along the last axis of square matrices, one for
each sample and head, is recorded as attention. (PyTorch does not use its fast path for transformers while calls are
intercepted.)
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from assay.core.errors import NotApplicable


class AttentionRecorder(TorchFunctionMode):
    """A scope in which attention is recorded. Subclasses may run calls in another way."""

    def __init__(self, rows: int) -> None:
        super().__init__()
        self.rows = rows
        self.recorded: list[Tensor] = []  # as computed: (N, heads, S, S), (N * heads, S, S) or (N, S, S)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name, kwargs = getattr(func, "__name__", "").strip("_"), kwargs or {}
        if name in STEPWISE:
            with self:  # the steps are intercepted, too
                return STEPWISE[name](*args, **kwargs)
        result = self.run_call(name, func, args, kwargs)
        if (
            name == "softmax"
            and _is_along_last_axis(result, *args[1:2], **kwargs)
            and self._is_attention(tuple(result.shape))
        ):
            if torch.is_grad_enabled() and not result.requires_grad:
                result.requires_grad_()  # attention that does not depend on the input
            self.recorded.append(result)
        return result

    def run_call(self, _name: str, func: Any, args: Any, kwargs: Any) -> Any:
        return func(*args, **kwargs)

    def matrices(self, values: list[Tensor]) -> list[Tensor]:
        """One tensor for each layer, shaped like its recorded attention, as (N, heads, S, S)."""
        if not self.recorded:
            raise NotApplicable("needs attention, and the model computes none")
        if len({weights.shape[-1] for weights in self.recorded}) > 1:
            raise NotApplicable("needs attention over the same positions in every layer")
        return [value.detach().reshape(self.rows, -1, *value.shape[-2:]) for value in values]

    def _is_attention(self, shape: tuple[int, ...]) -> bool:
        square = shape[-1] == shape[-2]
        if len(shape) == 3:
            return square and shape[0] % self.rows == 0
        if len(shape) > 4 or not square or shape[0] != self.rows:
            raise NotApplicable(f"needs attention of (samples, heads, S, S), and the model has a softmax of {shape}")
        return True


def attention(module: nn.Module, rows: Tensor) -> list[Tensor]:
    """The attention (N, heads, S, S) of each layer."""
    scope = AttentionRecorder(len(rows))
    with torch.no_grad(), scope:
        module(rows)
    return scope.matrices(scope.recorded)


def attention_and_gradients(module: nn.Module, rows: Tensor, target: Tensor) -> list[tuple[Tensor, Tensor]]:
    """The attention of each layer, and the gradient of the outputs for ``target`` with respect to it."""
    scope = AttentionRecorder(len(rows))
    with torch.enable_grad():
        with scope:
            outputs = module(rows.detach().requires_grad_())
        weights = scope.matrices(scope.recorded)
        scores = outputs.gather(1, target.unsqueeze(1)).sum()
        gradients = torch.autograd.grad(scores, scope.recorded, materialize_grads=True)
    return list(zip(weights, scope.matrices(list(gradients)), strict=True))


def _is_along_last_axis(result: Tensor, dim: int | None = None, **_others: Any) -> bool:
    """Whether ``dim`` is the last axis of a result with at least three."""
    return dim is not None and result.dim() > 2 and dim % result.dim() == result.dim() - 1


def _attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float) -> tuple[Tensor, Tensor]:
    """The weighted values (..., S, width), and the attention weights."""
    if query.shape[-2] != key.shape[-2]:
        raise NotApplicable("needs self-attention, and the model attends from some positions to others")
    scores = query @ key.transpose(-2, -1) * scale
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


def _scaled_dot_product(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """torch.nn.functional.scaled_dot_product_attention, step by step."""
    _require_plain(dropout=dropout_p > 0, shared_keys=enable_gqa)
    if is_causal:
        attn_mask = torch.ones(query.shape[-2:-1] * 2, dtype=torch.bool, device=query.device).tril()
    return _attend(query, key, value, attn_mask, 1 / sqrt(query.shape[-1]) if scale is None else scale)[0]


def _multi_head(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    _width: int,
    heads: int,
    weight: Tensor,
    bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_weight: Tensor,
    out_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    average_attn_weights: bool = True,
    use_separate_proj_weight: bool = False,
    **_others: Any,
) -> tuple[Tensor, Tensor | None]:
    """torch.nn.functional.multi_head_attention_forward for batches (S, N, width), step by step."""
    extra = bias_k is not None or bias_v is not None or add_zero_attn
    _require_plain(dropout=training and dropout_p > 0, extra_keys=extra, other_widths=use_separate_proj_weight)
    weights, biases = weight.chunk(3), (None, None, None) if bias is None else bias.chunk(3)
    projected = map(nn.functional.linear, (query, key, value), weights, biases)
    per_head = [part.unflatten(2, (heads, -1)).permute(1, 2, 0, 3) for part in projected]  # (N, heads, S, width)
    mask = _additive_mask(query, attn_mask, key_padding_mask, heads)
    values, attended = _attend(per_head[0], per_head[1], per_head[2], mask, 1 / sqrt(per_head[0].shape[-1]))
    output = nn.functional.linear(values.permute(2, 0, 1, 3).flatten(2), out_weight, out_bias)
    if not need_weights:
        return output, None
    return output, attended.mean(dim=1) if average_attn_weights else attended


def _additive_mask(query: Tensor, mask: Tensor | None, padding: Tensor | None, heads: int) -> Tensor | None:
    """The numbers to add to scores (N, heads, S, S). Masks hold numbers, or True for positions that are not read."""
    masks = []
    if mask is not None:
        masks.append(mask.view(-1, 1 if mask.dim() == 2 else heads, *mask.shape[-2:]))
    if padding is not None:
        masks.append(padding.view(len(padding), 1, 1, -1))
    added = [part.to(query.dtype).masked_fill(part, -torch.inf) if part.dtype == torch.bool else part for part in masks]
    return torch.stack(torch.broadcast_tensors(*added)).sum(dim=0) if added else None


def _require_plain(**extras: bool) -> None:
    for name, is_present in extras.items():
        if is_present:
            raise NotApplicable(f"needs plain attention, and the model's has {name.replace('_', ' ')}")


STEPWISE: dict[str, Callable[..., Any]] = {
    "scaled_dot_product_attention": _scaled_dot_product,
    "multi_head_attention_forward": _multi_head,
}
