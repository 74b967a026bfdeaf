from __future__ import annotations

import torch
from torch import Generator, Tensor

from assay.train.feature_tokens import FeatureTokens, initialise_feature_tokens
from assay.train.fit import fit
from assay.train.networks import restore


def made(seed: int = 0) -> FeatureTokens:
    network = FeatureTokens(5, 8, 3)
    initialise_feature_tokens(network, Generator().manual_seed(seed))
    return network


def table(count: int = 64) -> Tensor:
    return torch.randn(count, 5, generator=Generator().manual_seed(1))


def test_numbers_come_from_the_generator_alone() -> None:
    before = torch.random.get_rng_state()
    first, again, other = (made(seed).state_dict() for seed in (0, 0, 1))
    assert torch.equal(before, torch.random.get_rng_state())
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["weight"], other["weight"])
    assert all(bool(tensor.isfinite().all()) for tensor in first.values())


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


def test_a_network_is_trained_by_the_common_loop_and_restored() -> None:
    x = table()
    label = (x[:, 0] > 0).long()
    network = made()
    fit(network, x, label, epochs=15, batch=16, lr=1e-2, generator=Generator().manual_seed(0))
    assert float((network(x).argmax(dim=1) == label).float().mean()) > 0.95
    copy = FeatureTokens(5, 8, 3)
    restore(copy, network.state_dict())
    assert torch.equal(copy(x), network(x))
