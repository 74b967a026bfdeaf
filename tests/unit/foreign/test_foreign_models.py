"""What is asked of a model and of rows before anything is computed."""

from itertools import count

import numpy as np
import pytest
import torch
from torch import nn

from assay.core.errors import SpecError
from assay.foreign.inputs import as_classes, as_rows, checked_baseline
from assay.foreign.models import check_equal_models, count_outputs, frozen_copy
from streams import seeded


def rows(count=12):
    return torch.randn(count, 4, generator=torch.Generator().manual_seed(0))


class Says(nn.Module):
    """Answers as a function does."""

    def __init__(self, answer):
        super().__init__()
        self.answer = answer

    def forward(self, x):
        return self.answer(x)


@pytest.mark.parametrize(
    "answer, words",
    [
        (lambda x: x[:, 0], r"batch of 8 with \(8,\)"),
        (lambda x: x[:, :0], r"batch of 8 with \(8, 0\)"),
        (lambda x: (x,), "batch of 8 with tuple"),
        (lambda x: x.squeeze(0), r"batch of 1 with \(4,\)"),
        (lambda x: x.argmax(dim=1, keepdim=True), "answers with int64"),
        (lambda x: x.where(x < 1, torch.nan), "NaN for"),
        (lambda x: x + 1e-3 * x.roll(1, dims=0), "mixes the rows"),
        (lambda x: x / x.amax(), "mixes the rows"),
        (lambda x: x.softmax(dim=1), "outputs='probabilities'"),
    ],
)
def test_answers_that_are_of_no_use_are_told(answer, words):
    with pytest.raises(SpecError, match=words):
        count_outputs(Says(answer), rows(), "logits")


def test_a_model_that_answers_otherwise_when_it_is_asked_again_is_told():
    answers = count()
    with pytest.raises(SpecError, match="asked again"):
        count_outputs(Says(lambda x: x + next(answers)), rows(), "logits")


@pytest.mark.parametrize(
    "answer",
    [
        lambda x: x,
        lambda x: x.half(),
        lambda x: x.double() * (1 + 1e-6 * len(x)),  # rounding
        lambda x: torch.cat([x[:, :3], torch.full_like(x[:, :1], -torch.inf)], dim=1),  # a class that is ruled out
        lambda x: x.log_softmax(dim=1),
        lambda x: torch.zeros_like(x),
        lambda x: 2 * x.softmax(dim=1),
    ],
)
def test_answers_that_are_of_use_are_counted(answer):
    assert count_outputs(Says(answer), rows(), "logits") == 4


def test_one_output_that_is_always_1_is_no_probability():
    assert count_outputs(Says(lambda x: torch.ones_like(x[:, :1])), rows(), "logits") == 1


def test_equal_rows_hide_no_mixture():
    with pytest.raises(SpecError, match="mixes the rows"):
        count_outputs(Says(lambda x: x - x.mean(dim=0)), torch.ones(12, 4), "logits")


def test_the_rows_themselves_are_never_handed_out():
    x, before = rows(), rows()
    model = Says(lambda x: x.mul_(2))
    assert count_outputs(frozen_copy(model, x), x, "value") == 4
    assert torch.equal(x, before)
    assert torch.equal(frozen_copy(model, x)(x), 2 * before)
    assert torch.equal(x, before)
    positive = rows().abs()  # nothing is seen to change there
    guarded = frozen_copy(nn.ReLU(inplace=True), positive)
    guarded(x)
    assert torch.equal(x, before)


@seeded()
def test_a_frozen_copy_leaves_the_model_alone_and_has_no_needless_hook():
    model = nn.Linear(4, 2).train()
    copy = frozen_copy(model, rows())
    assert not copy.training
    assert not copy.weight.requires_grad
    assert not copy._forward_pre_hooks
    assert model.training
    assert model.weight.requires_grad


@seeded()
def test_twins_differ_in_weights_or_in_what_no_weights_hold():
    class Plain(nn.Module):
        def __init__(self, factor):
            super().__init__()
            self.factor = factor

        def forward(self, x):
            return x * self.factor

    check_equal_models("m:f", Plain(2.0), Plain(2.0), rows())
    with pytest.raises(SpecError, match="m:f makes another model every time: it draws numbers"):
        check_equal_models("m:f", Plain(2.0), Plain(2.0 + 1e-6), rows())
    with pytest.raises(SpecError, match="m:f makes another model every time: give its weights"):
        check_equal_models("m:f", nn.Linear(4, 2), nn.Linear(4, 2), rows())


def test_rows_become_tensors_of_their_own():
    array = rows().numpy()
    found = as_rows("x", array)
    found.zero_()
    assert array.any()
    given = rows()
    as_rows("x", given).zero_()
    assert given.any()
    assert as_rows("x", array.astype(np.longdouble)).dtype == torch.float64
    assert as_rows("x", array.astype(np.float16)).dtype == torch.float16


@pytest.mark.parametrize("given", [True, [1, 0], np.array([1, 2], np.uint64), np.array([1.0], ">f8")])
def test_classes_are_read_from_all_kinds_of_numbers(given):
    assert as_classes("y", given).tolist() == np.asarray(given).tolist()


@pytest.mark.parametrize("given", [0, -2.5, np.float32(0.5), "zero", "mean", "uniform", 3e38])
def test_baselines_that_are_known(given):
    assert checked_baseline(given) == given


@pytest.mark.parametrize("given", ["true", "", True, None, 1e39, -1e39, float("nan"), float("inf"), [0.0]])
def test_baselines_that_are_not(given):
    with pytest.raises(SpecError, match="write zero, mean, uniform or a number that float32 can hold"):
        checked_baseline(given)


def test_a_number_is_held_by_the_rows_format():
    assert checked_baseline(1e39, torch.float64) == 1e39
    with pytest.raises(SpecError, match="float16"):
        checked_baseline(1e5, torch.float16)
