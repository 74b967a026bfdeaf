from __future__ import annotations

import pytest
import torch
from torch import Generator, Tensor, nn

from assay.train.fit import fit
from assay.train.networks import restore
from assay.train.vit import Vit, initialise_vit, vit


def made(seed: int = 0, **others: int) -> Vit:
    network = vit(**{"side": 8, "patch": 4, "width": 8, "depth": 2, "heads": 2, "classes": 3, "channels": 2, **others})
    initialise_vit(network, Generator().manual_seed(seed))
    return network


def images(count: int = 40, seed: int = 1) -> Tensor:
    return torch.randn(count, 2, 8, 8, generator=Generator().manual_seed(seed))


def test_a_network_answers_with_a_logit_for_each_class() -> None:
    assert made()(images(5)).shape == (5, 3)
    assert made(patch=2, depth=1, classes=7)(images(5)).shape == (5, 7)


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="patches of 3 must tile 8 pixels"):
        vit(8, 3, 8, 1, 2, 3)
    with pytest.raises(ValueError, match="3 heads share a width of 8"):
        vit(8, 4, 8, 1, 3, 3)


def test_numbers_come_from_the_generator_alone() -> None:
    before = torch.random.get_rng_state()
    first, again, other = (made(seed).state_dict() for seed in (0, 0, 1))
    assert torch.equal(before, torch.random.get_rng_state())
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["positions"], other["positions"])
    assert not torch.equal(first["embed.weight"], other["embed.weight"])
    assert all(bool(tensor.isfinite().all()) for tensor in first.values())


def test_first_numbers_have_the_sizes_of_the_papers_program() -> None:
    network = made(width=64, side=32, channels=3)
    for name, layer in network.named_modules():
        if isinstance(layer, nn.Linear | nn.Conv2d):
            rows = layer.weight.flatten(1)
            expected = (2 / (rows.shape[0] + rows.shape[1])) ** 0.5
            assert abs(float(rows.detach().std()) / expected - 1) < 0.2, name
            assert layer.bias is not None
            assert not layer.bias.any()
    assert abs(float(network.positions.detach().std()) / 0.02 - 1) < 0.1
    assert not network.token.any()


def test_the_class_token_reads_every_patch_and_patches_tile_the_image() -> None:
    network, x = made(), images(1).requires_grad_()
    network(x)[0, 0].backward()
    assert x.grad is not None
    assert bool((x.grad != 0).all())
    embedded = network.embed(images(1))[0, :, 1, 0]  # second row, first column
    patch = images(1)[0, :, 4:, :4]
    torch.testing.assert_close(embedded, (network.embed.weight * patch).sum(dim=(1, 2, 3)), rtol=1e-5, atol=1e-6)


def test_positions_matter_only_through_their_embedding() -> None:
    network, x = made(), images(3)
    shuffled = torch.cat([x[..., 4:], x[..., :4]], dim=3)
    assert not torch.allclose(network(x), network(shuffled), atol=1e-5)
    with torch.no_grad():
        network.positions.zero_()
    torch.testing.assert_close(network(x), network(shuffled), rtol=1e-5, atol=1e-5)


def test_a_network_is_trained_by_the_common_loop_and_restored() -> None:
    x = images(64)
    label = (x[:, 0, :4, :4].mean(dim=(1, 2)) > 0).long()  # one patch decides
    network = made()
    fit(network, x, label, epochs=12, batch=16, lr=1e-2, generator=Generator().manual_seed(0))
    assert float((network(x).argmax(dim=1) == label).float().mean()) > 0.95
    copy = vit(8, 4, 8, 2, 2, 3, channels=2)
    restore(copy, network.state_dict())
    assert torch.equal(copy(x), network(x))
