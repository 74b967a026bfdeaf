from __future__ import annotations

from itertools import chain
from typing import Any

import torch
from torch import Generator, Tensor, nn

from assay.train.fit import fit
from assay.train.networks import initialise, mlp

SIGNS = torch.tensor([[1.0, -1.0], [-1.0, 1.0]])


def problem(count: int = 40) -> tuple[Tensor, Tensor]:
    x = torch.randn(count, 3, generator=Generator().manual_seed(1))
    return x, (x[:, 0] > 0).long()


def network(seed: int = 0) -> nn.Sequential:
    model = mlp(3, (8,), 2)
    initialise(model, Generator().manual_seed(seed))
    return model


def fitted(seed: int = 0, **changes: Any) -> nn.Sequential:
    model, (x, label) = network(), problem()
    settings = {"epochs": 3, "batch": 16, "lr": 1e-2, **changes}
    fit(model, x, label, generator=Generator().manual_seed(seed), **settings)
    return model


def numbers(model: nn.Module) -> Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


class Recorder(nn.Module):
    """Remembers the first column of every batch."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))
        self.seen: list[list[float]] = []

    def forward(self, x: Tensor) -> Tensor:
        self.seen.append(x[:, 0].tolist())
        return x[:, :2] * self.weight


def test_the_same_generator_gives_the_same_bits_and_another_gives_others() -> None:
    assert torch.equal(numbers(fitted(0)), numbers(fitted(0)))
    assert not torch.equal(numbers(fitted(0)), numbers(fitted(1)))


def test_training_neither_reads_nor_moves_the_global_random_numbers() -> None:
    with torch.random.fork_rng():
        torch.manual_seed(5)
        before = torch.random.get_rng_state()
        one = numbers(fitted())
        assert torch.equal(before, torch.random.get_rng_state())
        torch.manual_seed(6)
        assert torch.equal(one, numbers(fitted()))


def test_a_separable_problem_is_learned() -> None:
    x, label = problem()
    model = fitted(epochs=60)
    assert torch.equal(model(x).argmax(dim=1), label)


def test_the_first_step_of_adam_moves_every_weight_by_the_learning_rate_down_the_gradient() -> None:
    model, (x, label) = network(), problem()
    nn.functional.cross_entropy(model(x), label).backward()
    slope = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])  # type: ignore[union-attr]
    moved = numbers(fitted(epochs=1, batch=40, lr=1e-3)) - numbers(model)
    clear = slope.abs() > 1e-4  # Adam divides by |slope| + 1e-8
    assert int(clear.sum()) > 20
    torch.testing.assert_close(moved[clear], -1e-3 * slope[clear].sign(), rtol=1e-3, atol=0)


def test_every_epoch_sees_every_row_once_in_a_new_order_and_batches_are_as_large_as_asked() -> None:
    model = Recorder()
    x = torch.arange(30.0).view(10, 3)
    fit(model, x, torch.zeros(10).long(), 2, 4, 1e-3, Generator().manual_seed(0))
    assert [len(batch) for batch in model.seen] == [4, 4, 2, 4, 4, 2]
    first, second = [*chain(*model.seen[:3])], [*chain(*model.seen[3:])]
    assert sorted(first) == sorted(second) == x[:, 0].tolist()
    assert first != second


def test_rows_keep_their_labels_when_they_are_shuffled() -> None:
    # One batch holds one row: were labels shuffled apart from rows, half of the signs would be wrong.
    x, label = SIGNS.repeat(20, 1), torch.tensor([0, 1]).repeat(20)
    model = mlp(2, (), 2)
    initialise(model, Generator().manual_seed(0))
    fit(model, x, label, 5, 1, 1e-2, Generator().manual_seed(0))
    assert torch.equal(model(x).argmax(dim=1), label)


def test_progress_is_told_after_every_epoch_and_the_loss_falls() -> None:
    told: list[tuple[int, float]] = []
    quiet = numbers(fitted(epochs=20))
    assert torch.equal(quiet, numbers(fitted(epochs=20, progress=lambda epoch, loss: told.append((epoch, loss)))))
    assert [epoch for epoch, _ in told] == list(range(20))
    assert told[-1][1] < 0.5 * told[0][1]


def test_a_trained_model_is_frozen_in_evaluation_mode_and_holds_no_gradients() -> None:
    model = fitted()
    assert not model.training
    assert all(parameter.grad is None and not parameter.requires_grad for parameter in model.parameters())


def test_a_frozen_model_can_be_trained_further_also_where_gradients_are_off() -> None:
    model, (x, label) = fitted(), problem()
    before = numbers(model)
    with torch.no_grad():
        fit(model, x, label, 1, 16, 1e-2, Generator().manual_seed(2))
    assert not torch.equal(before, numbers(model))
