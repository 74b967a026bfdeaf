"""A transformer with hand-set weights that counts the words of each class.

The stream at a position holds: the position (S numbers), whether its token is a word that counts, whether it negates,
which class it looks like; then what the first layer writes (the class of a word that counts, whether it is negated),
and the sums.

Layer 1 copies a token's class if the token is a word that counts (a decoy looks the same but does not count), and reads
whether the token before negates; its network changes a negated class from 1 to -1. Layer 2 reads the mean of what was
copied, and the head multiplies it by the number of positions. Position 0 is the reader: it holds no token.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from assay.craft.attention import Block, Look, interpret_head, lookup_attention, mean_attention
from assay.craft.layers import frozen, linear


@dataclass(frozen=True, eq=False)
class Lexicon:
    """What each word of the vocabulary is."""

    counts: Tensor  # (V,) 1 for words that count
    negates: Tensor  # (V,) 1 for the negator
    looks: Tensor  # (V, classes) the class of words that count and of decoys


class TokenCount(nn.Module):
    """(B, T, V) one-hot words -> (B, classes): the number of words of each class, a logit each."""

    def __init__(self, embed: nn.Linear, positions: Tensor, blocks: nn.Sequential, head: nn.Linear) -> None:
        super().__init__()
        self.embed, self.positions = embed, frozen(positions)
        self.blocks, self.head = blocks, head

    def forward(self, x: Tensor) -> Tensor:
        words = self.embed(x)
        stream = torch.cat([torch.zeros_like(words[:, :1]), words], dim=1) + self.positions
        logits: Tensor = self.head(self.blocks(stream)[:, 0])
        return logits


def token_count(length: int, lexicon: Lexicon, sharpness: float) -> nn.Module:
    """The network, frozen and in evaluation mode."""
    positions, classes = length + 1, lexicon.looks.shape[1]
    widths = (positions, 1, 1, classes, classes, 1, classes)
    position, counts, negates, looks, copied, negated, total = torch.eye(sum(widths)).split(widths)  # (size, width)
    embed = linear(
        (counts.T @ lexicon.counts[None] + negates.T @ lexicon.negates[None] + looks.T @ lexicon.looks.T),
        torch.zeros(sum(widths)),
    )
    heads = [Look(0, counts[0], looks, copied.T), Look(1, negates[0], negates, negated.T)]
    flip = nn.Sequential(  # copied -= 2 relu(2 copied + 2 negated - 3)
        linear(2 * copied + 2 * negated, torch.full((classes,), -3.0)),
        nn.ReLU(),
        linear(-2 * copied.T, torch.zeros(sum(widths))),
    )
    blocks = nn.Sequential(
        Block(lookup_attention(heads, positions, sharpness), flip), Block(mean_attention(copied, total.T))
    )
    head = linear(positions * total, torch.zeros(classes))
    return TokenCount(embed, position, blocks, head).eval()


def interpret_token_count(x: Tensor, lexicon: Lexicon, sharpness: float) -> Tensor:
    """The network's output, computed a second way as a check: heads from their formula, without layers or weights."""
    counts, negates, looks = (part.to(x) for part in (lexicon.counts, lexicon.negates, lexicon.looks))
    flag = x @ negates
    copied = interpret_head(x @ counts, x @ looks, 0, sharpness)
    negated = interpret_head(flag, flag.unsqueeze(2), 1, sharpness)
    return (copied - 2 * torch.relu(2 * copied + 2 * negated - 3)).sum(dim=1)


def leak(length: int, sharpness: float) -> float:
    """Largest possible difference of the network from the count, for any words, apart from rounding.

    A head reads one position up to ``e = T exp(-s)``. Let |copied - its value| and |negated - its value| be at most e.
    Where relu is open, the result is -3 copied - 4 negated + 6, off by at most 7 e; where it is closed, by e (with
    4 e < 1 it is open and closed where it should be). The errors of T words and of the reader add up: the reader's own
    row copies nothing up to e.
    """
    return 7 * (length + 1) * length * float(torch.tensor(-sharpness, dtype=torch.float64).exp())
