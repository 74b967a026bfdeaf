"""A small transformer over the columns of a table (FT-Transformer: Gorishniy et al., 2021): each column is a token."""

from __future__ import annotations

from math import sqrt

import torch
from torch import Generator, Tensor, nn

from assay.train.vit import Block, initialise_layers

DEPTH = 2  # layers of attention
HEADS = 4  # of each layer


class FeatureTokens(nn.Module):
    """Columns (N, d) are positions after a class token; logits are read from the class token's final state.

    Column j's token is ``x_j * weight_j + bias_j``. The blocks are those of our vision transformer. (The paper's have
    another activation and no first normalisation.)
    """

    def __init__(self, d: int, width: int, classes: int) -> None:
        super().__init__()
        self.weight, self.bias = (nn.Parameter(torch.empty(d, width, device="meta")) for _ in range(2))
        self.token = nn.Parameter(torch.empty(1, 1, width, device="meta"))
        self.blocks = nn.Sequential(*(Block(width, HEADS) for _ in range(DEPTH)))
        self.norm, self.head = nn.LayerNorm(width, device="meta"), nn.Linear(width, classes, device="meta")

    def forward(self, x: Tensor) -> Tensor:
        columns = x.unsqueeze(2) * self.weight + self.bias
        stream = torch.cat([self.token.expand(len(x), -1, -1), columns], dim=1)
        logits: Tensor = self.head(self.norm(self.blocks(stream))[:, 0])
        return logits


def initialise_feature_tokens(network: FeatureTokens, generator: Generator) -> None:
    """Draw initial parameters: tokens uniform up to 1 / sqrt(width), as in the paper; layers as in ``vit``."""
    network.to_empty(device="cpu")
    initialise_layers(network, generator)
    for tensor in (network.weight, network.bias, network.token):
        bound = 1 / sqrt(tensor.shape[-1])
        nn.init.uniform_(tensor, -bound, bound, generator=generator)
