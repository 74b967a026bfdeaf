from __future__ import annotations

import pytest
import torch
from torch import Generator, Tensor, nn

from assay.train.vit import Vit, initialise_vit, vit


def made(seed: int = 0, **others: int) -> Vit:
    network = vit(**{"side": 8, "patch": 4, "width": 8, "depth": 2, "heads": 2, "classes": 3, "channels": 2, **others})
    initialise_vit(network, Generator().manual_seed(seed))
    return network


def images(count: int = 40, seed: int = 1) -> Tensor:
    return torch.randn(count, 2, 8, 8, generator=Generator().manual_seed(seed))


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="patches of 3 must tile 8 pixels"):
        vit(8, 3, 8, 1, 2, 3)
    with pytest.raises(ValueError, match="3 heads share a width of 8"):
        vit(8, 4, 8, 1, 3, 3)


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
