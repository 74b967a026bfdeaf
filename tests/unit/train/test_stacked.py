from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest
import torch
from torch import Generator, Tensor, nn

from assay.core.setting import Recipe, Setting
from assay.environments.cifar import Cifar
from assay.environments.tabular_rule import TabularRule
from assay.train import stacked
from assay.train.fit import fit, split_batches
from assay.train.networks import initialise, mlp
from assay.train.stacked import fit_stacked
from streams import seeded

SEEDS = (3, 1, 4)
ROWS = torch.randn(3, 45, 5, generator=Generator().manual_seed(0), dtype=torch.float64)
LABEL = (ROWS[0] @ torch.arange(15.0, dtype=torch.float64).view(5, 3).sin()).argmax(dim=1)
EXACT = {"rtol": 1e-9, "atol": 1e-11}  # float64; float32 models move apart as training goes on, if they do


def begun(seed: int, hidden: tuple[int, ...]) -> tuple[nn.Sequential, Generator]:
    network, random = mlp(5, hidden, 3), Generator().manual_seed(seed)
    initialise(network, random)
    return network.double(), random


@pytest.mark.parametrize("hidden", [(), (7,), (16, 8, 6)])
@pytest.mark.parametrize("batch", [16, 45, 64])  # the last batch is smaller, the only one, all there is
def test_many_networks_end_where_each_alone_ends(hidden: tuple[int, ...], batch: int) -> None:
    networks, randoms = zip(*(begun(seed, hidden) for seed in SEEDS), strict=True)
    fit_stacked(networks, ROWS, LABEL, 12, batch, 1e-2, randoms)
    for seed, rows, found in zip(SEEDS, ROWS, networks, strict=True):
        alone, random = begun(seed, hidden)
        before = alone(rows)
        fit(alone, rows, LABEL, 12, batch, 1e-2, random)
        torch.testing.assert_close(found(rows), alone(rows), **EXACT)
        assert not torch.allclose(before, alone(rows), rtol=0.1)  # something was learned
        assert not found.training
        assert not any(number.requires_grad for number in found.parameters())


@pytest.mark.parametrize("size", [1, 2])
def test_how_many_go_together_does_not_decide_what_comes_out(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    networks, randoms = zip(*(begun(seed, (7,)) for seed in SEEDS), strict=True)
    bytes_each = 8 * (4 * (5 * 7 + 7 * 3) + 2 * 16 * (7 + 3))
    monkeypatch.setattr(stacked, "STACK_BYTES", size * bytes_each)
    fit_stacked(networks, ROWS, LABEL, 3, 16, 1e-2, randoms)
    for seed, rows, found in zip(SEEDS, ROWS, networks, strict=True):
        alone, random = begun(seed, (7,))
        fit(alone, rows, LABEL, 3, 16, 1e-2, random)
        torch.testing.assert_close(found(rows), alone(rows), **EXACT)


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.Sequential(nn.Linear(5, 3), nn.ReLU()),
        lambda: nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3)),
        lambda: nn.Sequential(nn.Linear(5, 3, bias=False)),
        nn.Sequential,
    ],
)
@seeded()
def test_other_networks_are_refused(make: Callable[[], nn.Sequential]) -> None:
    with pytest.raises(ValueError, match="only linear layers with a bias"):
        fit_stacked([make()], ROWS[:1], LABEL, 1, 16, 1e-2, [Generator().manual_seed(0)])


def test_gradients_may_be_off_and_given_rows_stay_as_they_are() -> None:
    networks, randoms = zip(*(begun(seed, (4,)) for seed in SEEDS), strict=True)
    before, start = ROWS.clone(), networks[0][0].weight.clone()
    with torch.no_grad():
        fit_stacked(networks, ROWS, LABEL, 1, 16, 1e-2, randoms)
    assert torch.equal(ROWS, before)
    assert not torch.equal(networks[0][0].weight, start)


@cache
def place(kind: str) -> Setting:
    tiny = {"mlp": TabularRule.tiny(), "forest": replace(TabularRule.tiny(), model="forest"), "image": Cifar.tiny()}
    return tiny[kind].setting(0, tiny[kind].train(0)).to("cpu", torch.float64)  # type: ignore[attr-defined,no-any-return]


def recipe_and_rows(kind: str) -> tuple[Recipe, Tensor, Tensor]:
    """Reference rows as they are, with a constant in place of some entries, and with other units."""
    setting = place(kind)
    assert setting.recipe is not None
    assert setting.reference is not None
    x = setting.reference.x
    bare = x.clone()
    bare[..., :3] = 0.25
    return setting.recipe, torch.stack([x, bare, 10 * x + 3]), setting.reference.label


@pytest.mark.parametrize("kind", ["mlp", "forest", "image"])
def test_a_recipe_trains_many_as_it_trains_one_and_keeps_them_as_tensors(kind: str) -> None:
    recipe, x, label = recipe_and_rows(kind)
    found = recipe.train_many(x, label, SEEDS)
    assert (recipe.together is not None) == (kind == "mlp")
    for rows, seed, model in zip(x, SEEDS, found, strict=True):
        alone = recipe.train(rows, label, seed)
        torch.testing.assert_close(model(rows), alone(rows), **EXACT)
        back = recipe.restore(recipe.weights(model))
        assert torch.equal(back(rows), model(rows))
        assert not back.training
        assert not any(number.requires_grad for number in back.parameters())
    assert not torch.allclose(found[0](x[0]), found[1](x[0]))


def test_a_single_last_row_goes_with_those_before() -> None:
    assert [part.tolist() for part in split_batches(torch.arange(9), 4)] == [[0, 1, 2, 3], [4, 5, 6, 7, 8]]
    assert [part.shape[-1] for part in split_batches(torch.arange(10).expand(2, -1), 4)] == [4, 4, 2]
    assert [part.tolist() for part in split_batches(torch.arange(1), 4)] == [[0]]


def test_dropout_draws_from_the_given_seed_and_not_from_the_global_stream() -> None:
    found = []
    for seed in (1, 2):
        network, random = begun(3, (8,))
        model = nn.Sequential(nn.Dropout(0.5), network)
        with torch.random.fork_rng():
            torch.random.set_rng_state(Generator().manual_seed(seed).get_state())
            before = torch.random.get_rng_state()
            fit(model, ROWS[0], LABEL, 2, 16, 1e-2, random)
            assert torch.equal(before, torch.random.get_rng_state())
        found.append(model(ROWS[0]))
    assert torch.equal(found[0], found[1])
