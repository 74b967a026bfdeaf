"""What the oracles of transformers share: a small one, and its run by hand, one sample and one head at a time."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import torch
from torch import nn
from torch.nn import functional as F

from scenes import ask, data, randomised
from streams import seeded

READER = 0


class Layer(nn.Module):
    """Attention and a network at each position. ``way``: how attention is written down."""

    def __init__(self, width, heads, norm, activation, way):
        super().__init__()
        self.heads, self.way = heads, way
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.first, self.second = (norm(width) for _ in range(2))
        self.activation = activation()

    def attend(self, x):
        q, k, v = (layer(x).unflatten(2, (self.heads, -1)).transpose(1, 2) for layer in (self.q, self.k, self.v))
        scale = 1 / sqrt(q.shape[-1])
        if self.way == "fused":
            read = F.scaled_dot_product_attention(q, k, v)
        elif self.way == "einsum":
            weights = torch.einsum("bhid,bhjd->bhij", q, k).mul(scale).softmax(-1)
            read = torch.einsum("bhij,bhjd->bhid", weights, v)
        else:
            scores = q @ k.transpose(-2, -1)
            scores /= 1 / scale
            read = torch.matmul(F.softmax(scores, dim=-1), v)
        return self.o(read.transpose(1, 2).reshape(x.shape))

    def forward(self, x):
        if self.way == "matmul":
            x = x + self.attend(self.first(x))
            added = self.down(self.activation(self.up(self.second(x))))
            added += x
            return added
        x = self.attend(self.first(x)) + x
        return x.add(self.down(self.activation(self.up(self.second(x)))))


class Transformer(nn.Module):
    """Rows of an input as positions behind a reader, or patches of 4 x 4 pixels."""

    def __init__(self, embed, positions, width, depth, heads, norm, activation, way):
        super().__init__()
        self.embed, self.norm, self.head = embed, norm(width), nn.Linear(width, 3)
        self.reader = nn.Parameter(torch.zeros(1, 1, width))
        self.places = nn.Parameter(torch.zeros(positions + 1, width))
        self.layers = nn.Sequential(*(Layer(width, heads, norm, activation, way) for _ in range(depth)))

    def stream(self, x):
        rows = self.embed(x)
        rows = rows.flatten(2).transpose(1, 2) if rows.dim() == 4 else rows
        return torch.cat([self.reader.expand(len(x), -1, -1), rows], dim=1) + self.places

    def forward(self, x):
        return self.head(self.norm(self.layers(self.stream(x)))[:, READER])


@seeded()
def tokens(depth=3, norm=nn.LayerNorm, activation=nn.GELU, way="fused", seed=0):
    """5 rows of 4 numbers."""
    return randomised(Transformer(nn.Linear(4, 6), 5, 6, depth, 2, norm, activation, way), seed).double()


@seeded()
def images(depth=3, norm=nn.LayerNorm, activation=nn.GELU, way="fused", seed=0):
    """2 channels of 12 x 8 pixels: 3 x 2 patches."""
    embed = nn.Conv2d(2, 6, 4, stride=4)
    return randomised(Transformer(embed, 6, 6, depth, 2, norm, activation, way), seed).double()


def sample(kind, count=4):
    return data(count, *((5, 4) if kind is tokens else (2, 12, 8))).double()


def question(net, x, readout="logit", features=None):
    return ask(net, x, readout, temperature=2.0 if readout == "probability" else 1.0, features=features)


@dataclass
class Step:
    """One layer's numbers for one sample; lists are over heads."""

    start: torch.Tensor
    read_from: torch.Tensor
    q: list[torch.Tensor]
    k: list[torch.Tensor]
    v: list[torch.Tensor]
    attention: list[torch.Tensor]
    read: torch.Tensor
    attended: torch.Tensor
    middle: torch.Tensor
    seen: torch.Tensor
    active: torch.Tensor
    added: torch.Tensor


def walk(net, x, score):
    """The layers' numbers for one sample, with the score's gradient at each head's attention, and the logits' input."""
    stream, steps = net.stream(x[None])[0], []
    for layer in net.layers:
        size = layer.q.out_features // layer.heads
        read_from = layer.first(stream)
        q, k, v = ((read_from @ part.weight.T + part.bias).split(size, dim=1) for part in (layer.q, layer.k, layer.v))
        attention = []
        for query, key in zip(q, k, strict=True):
            weights = torch.exp(query @ key.T / sqrt(size))
            attention.append(weights / weights.sum(dim=1, keepdim=True))
            attention[-1].retain_grad()
        read = torch.cat([weights @ value for weights, value in zip(attention, v, strict=True)], dim=1)
        attended = read @ layer.o.weight.T + layer.o.bias
        middle = stream + attended
        seen = layer.second(middle)
        active = layer.activation(seen @ layer.up.weight.T + layer.up.bias)
        added = active @ layer.down.weight.T + layer.down.bias
        numbers = (stream, read_from, q, k, v, attention, read, attended, middle, seen, active, added)
        steps.append(Step(*numbers))
        stream = middle + added
    last = net.norm(stream)[READER]
    score(net.head(last)).backward()
    return steps, last


def walks(net, query):
    """For each sample its target, its layers and the logits' input."""
    for x, target in zip(query.x, query.target, strict=True):

        def score(logits, target=target):
            return query.module.readout(logits[None])[0, target]

        yield int(target), *walk(net, x, score)


def spread(query, rows):
    """The reader's rows (N, 1 + positions) as one number per feature."""
    if query.x.dim() == 3:
        return rows[:, 1:]
    result = torch.zeros(len(rows), 12, 8, dtype=rows.dtype)
    for patch in range(6):
        top, left = 4 * (patch // 2), 4 * (patch % 2)
        result[:, top : top + 4, left : left + 4] = rows[:, 1 + patch, None, None]
    return result
