"""A small vision transformer (Dosovitskiy et al., 2021): shapes first, then parameters from an explicit generator."""

from __future__ import annotations

import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

DEVIATION = 0.02  # of the initial position embeddings


class Attention(nn.Module):
    """Self-attention of several heads over (N, S, width)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width, device="meta") for _ in range(4))

    def forward(self, stream: Tensor) -> Tensor:
        query, key, value = (self._heads(layer(stream)) for layer in (self.query, self.key, self.value))
        read = scaled_dot_product_attention(query, key, value)
        result: Tensor = self.out(read.transpose(1, 2).flatten(2))
        return result

    def _heads(self, stream: Tensor) -> Tensor:
        heads: Tensor = stream.unflatten(2, (self.heads, -1))
        return heads.transpose(1, 2)


class Block(nn.Module):
    """Attention and a network at each position, each after a layer normalisation and added to the stream."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(width, device="meta")
        self.attention = Attention(width, heads)
        self.mlp_norm = nn.LayerNorm(width, device="meta")
        inner = 4 * width
        self.mlp = nn.Sequential(
            nn.Linear(width, inner, device="meta"), nn.GELU(), nn.Linear(inner, width, device="meta")
        )

    def forward(self, stream: Tensor) -> Tensor:
        stream = stream + self.attention(self.attention_norm(stream))
        result: Tensor = stream + self.mlp(self.mlp_norm(stream))
        return result


class Vit(nn.Module):
    """Patches are positions after a class token; logits are read from the class token's final state."""

    def __init__(self, patches: int, embed: nn.Conv2d, blocks: nn.Sequential, head: nn.Linear) -> None:
        super().__init__()
        width = embed.out_channels
        self.embed = embed
        self.token = nn.Parameter(torch.empty(1, 1, width, device="meta"))
        self.positions = nn.Parameter(torch.empty(1, 1 + patches, width, device="meta"))
        self.blocks, self.norm, self.head = blocks, nn.LayerNorm(width, device="meta"), head

    def forward(self, x: Tensor) -> Tensor:
        patches = self.embed(x).flatten(2).transpose(1, 2)
        stream = torch.cat([self.token.expand(len(x), -1, -1), patches], dim=1) + self.positions
        logits: Tensor = self.head(self.norm(self.blocks(stream))[:, 0])
        return logits


def vit(side: int, patch: int, width: int, depth: int, heads: int, classes: int, channels: int = 3) -> Vit:
    """A vision transformer for images of ``side`` x ``side`` pixels, on the meta device: shapes without values.

    ``initialise_vit`` or ``networks.restore`` sets them.
    """
    if side % patch or width % heads:
        raise ValueError(
            f"patches of {patch} must tile {side} pixels, and {heads} heads share a width of {width} evenly"
        )
    embed = nn.Conv2d(channels, width, patch, stride=patch, device="meta")
    blocks = nn.Sequential(*(Block(width, heads) for _ in range(depth)))
    return Vit((side // patch) ** 2, embed, blocks, nn.Linear(width, classes, device="meta"))


def initialise_vit(network: Vit, generator: Generator) -> None:
    """Draw initial parameters as in the paper's program: layers Xavier-uniform with bias 0, positions normal, class
    token 0."""
    network.to_empty(device="cpu")
    initialise_layers(network, generator)
    nn.init.zeros_(network.token)
    nn.init.normal_(network.positions, std=DEVIATION, generator=generator)


def initialise_layers(network: nn.Module, generator: Generator) -> None:
    """Linear layers and convolutions Xavier-uniform with bias 0, normalisations 1 and 0."""
    for layer in network.modules():
        if isinstance(layer, nn.Linear | nn.Conv2d):
            nn.init.xavier_uniform_(layer.weight.view(len(layer.weight), -1), generator=generator)
            nn.init.zeros_(layer.get_parameter("bias"))
        elif isinstance(layer, nn.LayerNorm):
            layer.reset_parameters()
