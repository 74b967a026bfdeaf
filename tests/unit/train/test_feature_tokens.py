from __future__ import annotations

import torch
from torch import Generator, Tensor

from assay.train.feature_tokens import FeatureTokens, initialise_feature_tokens


def made(seed: int = 0) -> FeatureTokens:
    network = FeatureTokens(5, 8, 3)
    initialise_feature_tokens(network, Generator().manual_seed(seed))
    return network


def table(count: int = 64) -> Tensor:
    return torch.randn(count, 5, generator=Generator().manual_seed(1))


def test_the_class_token_reads_every_column_by_its_own_embedding() -> None:
    network, x = made(), table(4).requires_grad_()
    network(x)[:, 0].sum().backward()
    assert x.grad is not None
    assert bool((x.grad != 0).all())
    assert not torch.allclose(network(x), network(x.flip(1)), atol=1e-4)
    with torch.no_grad():
        network.weight.copy_(network.weight[:1].clone())
        network.bias.copy_(network.bias[:1].clone())
    torch.testing.assert_close(network(x), network(x.flip(1)), rtol=1e-5, atol=1e-5)  # columns of one kind are a set
