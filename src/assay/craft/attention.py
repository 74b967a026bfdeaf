"""Attention with hand-set weights: heads that look for flagged tokens at a known distance.

A ``Look`` says what a head does: position i reads ``value`` from position i - ``offset`` if the token there carries
``flag``, and nothing otherwise. As attention with sharpness s, the score of position j for position i is

    2 s [j = i - offset] + 2 s flag_j - 2 s,    and s for position 0, which carries nothing.

So a flagged token at the right distance scores 2 s, position 0 scores s, everything else at most 0. The softmax is
within ``(S - 1) exp(-s)`` of reading one position, S being the number of positions. Attention depends on content: with
scores of 0 a head would read the mean of all tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from assay.craft.layers import linear


@dataclass(frozen=True, eq=False)
class Look:
    """What a head looks for. ``flag`` (width,) and ``value`` (reads, width) are read off a position's stream."""

    offset: int
    flag: Tensor
    value: Tensor
    into: Tensor  # (width, reads): where the head writes into the stream what it read


class Attention(nn.Module):
    """Multi-head self-attention over (N, S, width). The usual scale of scores is part of the weights."""

    def __init__(self, query: nn.Linear, key: nn.Linear, value: nn.Linear, out: nn.Linear, heads: int) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = query, key, value, out
        self.heads = heads

    def forward(self, stream: Tensor) -> Tensor:
        query, key, value = (self._heads(layer(stream)) for layer in (self.query, self.key, self.value))
        weights = torch.softmax(query @ key.transpose(-2, -1), dim=-1)  # (N, heads, S, S)
        read: Tensor = self.out((weights @ value).transpose(1, 2).flatten(2))
        return read

    def _heads(self, stream: Tensor) -> Tensor:
        apart: Tensor = stream.unflatten(2, (self.heads, -1)).transpose(1, 2)  # type: ignore[no-untyped-call]
        return apart


class Block(nn.Module):
    """Attention and an optional network at each position; each adds to the stream."""

    def __init__(self, attention: Attention, mlp: nn.Sequential | None = None) -> None:
        super().__init__()
        self.attention, self.mlp = attention, mlp

    def forward(self, stream: Tensor) -> Tensor:
        stream = stream + self.attention(stream)
        return stream if self.mlp is None else stream + self.mlp(stream)


def lookup_attention(looks: Sequence[Look], positions: int, sharpness: float) -> Attention:
    """The heads as one attention layer; the first ``positions`` numbers of the stream encode the position, one-hot."""
    width, inner = len(looks[0].flag), positions + 1  # of a head: one number per position, and one for content
    query, key, value = (torch.zeros(len(looks), inner, width) for _ in range(3))
    out = torch.zeros(width, len(looks), inner)
    query_bias, key_bias = torch.zeros(len(looks), inner), torch.zeros(len(looks), inner)
    for head, look in enumerate(looks):
        position = torch.arange(look.offset, positions)
        query[head, position - look.offset, position] = 2 * sharpness
        key[head, :positions, :positions] = torch.eye(positions)
        query_bias[head, -1] = 1
        key[head, -1] = 2 * sharpness * look.flag
        key[head, -1, 0] += 3 * sharpness  # position 0
        key_bias[head, -1] = -2 * sharpness
        value[head, : len(look.value)] = look.value
        out[:, head, : len(look.value)] = look.into
    return Attention(
        linear(query.flatten(0, 1), query_bias.flatten()),
        linear(key.flatten(0, 1), key_bias.flatten()),
        linear(value.flatten(0, 1), torch.zeros(len(looks) * inner)),
        linear(out.flatten(1), torch.zeros(width)),
        len(looks),
    )


def mean_attention(value: Tensor, into: Tensor) -> Attention:
    """One head with scores of 0: every position reads the mean of all positions."""
    reads, width = value.shape
    query = linear(torch.zeros(reads, width), torch.zeros(reads))
    key = linear(torch.zeros(reads, width), torch.zeros(reads))
    return Attention(query, key, linear(value, torch.zeros(reads)), linear(into, torch.zeros(width)), 1)


def interpret_head(flag: Tensor, value: Tensor, offset: int, sharpness: float) -> Tensor:
    """What each token reads, from the formula above: an independent check of a head. Leaves out position 0's own row.

    ``flag`` (N, T) and ``value`` (N, T, reads) are those of the tokens; returns (N, T, reads).
    """
    tokens = flag.shape[1]
    near = torch.eye(tokens, dtype=flag.dtype, device=flag.device).roll(offset, dims=0).tril(-offset)  # (i, j = i - o)
    score = 2 * sharpness * (near + flag.unsqueeze(1) - 1)  # (N, i, j)
    reader = torch.full((tokens,), sharpness, dtype=flag.dtype, device=flag.device)  # score of position 0
    reader[:offset] = 3 * sharpness  # position 0 is at the right distance from the first tokens
    largest = torch.maximum(score.amax(dim=2), reader)
    weight = (score - largest.unsqueeze(2)).exp()
    total = weight.sum(dim=2) + (reader - largest).exp()
    return weight @ value / total.unsqueeze(2)
