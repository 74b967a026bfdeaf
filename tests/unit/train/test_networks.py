from __future__ import annotations

import torch
from torch import Generator, Tensor, nn

from assay.train.networks import Standardise, initialise, mlp, restore, standardised


def made(seed: int = 0) -> nn.Sequential:
    network = mlp(5, (7, 4), 3)
    initialise(network, Generator().manual_seed(seed))
    return network


def rows(count: int = 50, d: int = 5) -> Tensor:
    return torch.randn(count, d, generator=Generator().manual_seed(1))


def test_initial_numbers_are_those_that_pytorch_gives_by_default() -> None:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        stock = nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 4), nn.ReLU(), nn.Linear(4, 3))
    ours = made(3).state_dict()
    assert ours.keys() == stock.state_dict().keys()
    assert all(torch.equal(ours[name], tensor) for name, tensor in stock.state_dict().items())


def test_every_hidden_layer_has_a_relu_module_of_its_own_and_the_output_has_none() -> None:
    kinds = [type(module) for module in mlp(5, (7, 4), 3)]
    assert kinds == [nn.Linear, nn.ReLU, nn.Linear, nn.ReLU, nn.Linear]
    assert len(set(mlp(5, (7, 4), 3))) == 5


def test_without_hidden_layers_the_network_is_linear() -> None:
    network = mlp(5, (), 3)
    initialise(network, Generator().manual_seed(0))
    assert network(rows()).shape == (50, 3)
    assert len(network) == 1


def test_standardised_rows_have_mean_zero_and_variance_one() -> None:
    x = 40 + 7 * rows(1000).double()
    out = Standardise.of(x)(x)
    torch.testing.assert_close(out.mean(dim=0), torch.zeros(5).double(), rtol=0, atol=1e-12)
    torch.testing.assert_close(out.square().mean(dim=0), torch.ones(5).double(), rtol=1e-12, atol=0)


def test_a_constant_column_becomes_exactly_zero_and_other_values_of_it_stay_small() -> None:
    x = rows(3000)
    x[:, 2] = 0.1  # the float32 mean of 3000 times 0.1 is not 0.1
    standardise = Standardise.of(x)
    assert bool((standardise(x)[:, 2] == 0).all())
    assert float(standardise(torch.full((1, 5), 1.1))[0, 2]) == torch.tensor(1.1) - torch.tensor(0.1)


def test_a_standardised_network_does_not_care_about_units() -> None:
    x, network = rows().double(), made().double()
    scaled = 100 * x - 30
    plain = standardised(Standardise.of(x), network)(x)
    torch.testing.assert_close(standardised(Standardise.of(scaled), network)(scaled), plain, rtol=1e-9, atol=1e-9)


def test_a_restored_network_is_the_same_function_frozen_and_with_numbers_of_its_own() -> None:
    original = standardised(Standardise.of(2 * rows() + 1), made())
    weights = dict(original.state_dict())
    copy = standardised(Standardise(torch.zeros(5), torch.ones(5)), mlp(5, (7, 4), 3))
    restore(copy, weights)
    expected = original(rows())
    assert torch.equal(copy(rows()), expected)
    assert not copy.training
    assert not any(parameter.requires_grad for parameter in copy.parameters())
    for tensor in weights.values():
        tensor.zero_()
    assert torch.equal(copy(rows()), expected)
