"""Attention with hand-set weights: heads that look for something at a known distance.

A ``Look`` is what a head does, in words: position i reads ``value`` from position i - ``offset`` if the token there
carries ``flag``, and nothing otherwise. As attention: with sharpness s, the score of j for i is

    2 s [j = i - offset] + 2 s flag_j - 2 s,    and s for position 0, which carries nothing.

So a flagged token at the right distance scores 2 s, position 0 scores s, everything else at most 0: the softmax is
within ``(S - 1) exp(-s)`` of reading one position, S being the number of positions. All of it depends on content: with
scores of 0 a head reads the mean of all tokens.
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
    into: Tensor  # (width, reads): where in the stream the head writes what it read


class Attention(nn.Module):
    """Multi-head self-attention over (N, S, width), without a scale: it is in the weights."""

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
    """Attention and, where there is one, a network at each position; each adds to the stream."""

    def __init__(self, attention: Attention, mlp: nn.Sequential | None = None) -> None:
        super().__init__()
        self.attention, self.mlp = attention, mlp

    def forward(self, stream: Tensor) -> Tensor:
        stream = stream + self.attention(stream)
        return stream if self.mlp is None else stream + self.mlp(stream)


def looking(looks: Sequence[Look], positions: int, sharpness: float) -> Attention:
    """The heads as one attention layer; the first ``positions`` numbers of the stream say where a position is."""
    width, inner = len(looks[0].flag), positions + 1  # of a head: one number for each position, and one for content
    query, key, value = (torch.zeros(len(looks), inner, width) for _ in range(3))
    out = torch.zeros(width, len(looks), inner)
    query_bias, key_bias = torch.zeros(len(looks), inner), torch.zeros(len(looks), inner)
    for head, look in enumerate(looks):
        here = torch.arange(look.offset, positions)
        query[head, here - look.offset, here] = 2 * sharpness
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


def averaging(value: Tensor, into: Tensor) -> Attention:
    """One head by which every position reads the mean of all: its scores are 0."""
    reads, width = value.shape
    blank = linear(torch.zeros(reads, width), torch.zeros(reads))
    again = linear(torch.zeros(reads, width), torch.zeros(reads))
    return Attention(blank, again, linear(value, torch.zeros(reads)), linear(into, torch.zeros(width)), 1)


def seen(flag: Tensor, value: Tensor, offset: int, sharpness: float) -> Tensor:
    """The second witness of a head: what each token reads, from the formula above and without position 0's row.

    ``flag`` (N, T) and ``value`` (N, T, reads) of the tokens; (N, T, reads).
    """
    tokens = flag.shape[1]
    right = torch.eye(tokens, dtype=flag.dtype, device=flag.device).roll(offset, dims=0).tril(-offset)  # (i, j = i - o)
    score = 2 * sharpness * (right + flag.unsqueeze(1) - 1)  # (N, i, j)
    null = torch.full((tokens,), sharpness, dtype=flag.dtype, device=flag.device)
    null[:offset] = 3 * sharpness  # position 0 is at the right distance from the first ones
    largest = torch.maximum(score.amax(dim=2), null)
    weight = (score - largest.unsqueeze(2)).exp()
    total = weight.sum(dim=2) + (null - largest).exp()
    return weight @ value / total.unsqueeze(2)
