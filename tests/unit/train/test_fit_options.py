from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy

from assay.train.fit import fit
from assay.train.networks import initialise, mlp

X = torch.randn(12, 3, generator=Generator().manual_seed(1)).double()
LABEL = (X[:, 0] > 0).long()


def network() -> nn.Module:
    model = mlp(3, (4,), 2)
    initialise(model, Generator().manual_seed(0))
    return model.double()


def numbers(model: nn.Module) -> list[Tensor]:
    return [parameter.detach().clone() for parameter in model.parameters()]


def slopes(weights: list[Tensor]) -> list[Tensor]:
    model = network()
    for parameter, value in zip(model.parameters(), weights, strict=True):
        parameter.data.copy_(value)
    cross_entropy(model(X), LABEL).backward()
    return [parameter.grad for parameter in model.parameters()]


def test_momentum_decay_and_schedule_move_weights_as_by_hand() -> None:
    sgd = partial(torch.optim.SGD, momentum=0.9, weight_decay=0.01)
    factors = [1.0, 1.0, 0.1]
    model = network()
    fit(model, X, LABEL, 3, 12, 0.5, Generator().manual_seed(0), optimiser=sgd, schedule=factors.__getitem__)
    weights = numbers(network())
    speed = [torch.zeros_like(weight) for weight in weights]
    for factor in factors:
        pulls = [slope + 0.01 * weight for slope, weight in zip(slopes(weights), weights, strict=True)]
        speed = [0.9 * old + pull for old, pull in zip(speed, pulls, strict=True)]
        weights = [weight - 0.5 * factor * step for weight, step in zip(weights, speed, strict=True)]
    for found, expected in zip(numbers(model), weights, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)


def test_the_model_sees_what_augment_makes_and_labels_stay_with_their_rows() -> None:
    seen: list[Tensor] = []

    def doubled(x: Tensor, generator: Generator) -> Tensor:
        seen.append(x)
        return 2 * x

    plain, other = network(), network()
    fit(plain, 2 * X, LABEL, 2, 5, 1e-2, Generator().manual_seed(0))
    fit(other, X, LABEL, 2, 5, 1e-2, Generator().manual_seed(0), augment=doubled)
    assert [len(batch) for batch in seen] == [5, 5, 2, 5, 5, 2]
    assert all(torch.equal(a, b) for a, b in zip(numbers(plain), numbers(other), strict=True))


@pytest.mark.parametrize("option", ["augment", "schedule", "optimiser"])
def test_an_option_that_does_nothing_changes_no_bit(option: str) -> None:
    idle = {"augment": lambda x, _: x, "schedule": lambda _: 1.0, "optimiser": partial(torch.optim.Adam, eps=1e-8)}
    plain, other = network(), network()
    fit(plain, X, LABEL, 3, 5, 1e-2, Generator().manual_seed(0))
    fit(other, X, LABEL, 3, 5, 1e-2, Generator().manual_seed(0), **{option: idle[option]})
    assert all(torch.equal(a, b) for a, b in zip(numbers(plain), numbers(other), strict=True))
