"""Methods that take a method."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from assay.core.features import Columns
from assay.methods.agop import Agop
from assay.methods.combinators import Absolute, Pooled, Positive
from assay.methods.content_free import RandomMap
from assay.methods.first_rows import FirstRows
from assay.methods.gradient import Gradient, InputXGradient
from assay.methods.integrated_gradients import IntegratedGradients
from assay.methods.smoothed import Smoothed
from scenes import ask, cnn, data, fitted, mlp, rows

COMBINATORS = [Absolute, FirstRows, Pooled, Positive, Smoothed]


@dataclass(frozen=True)
class Spy:
    """Returns the gradient and remembers what it was asked."""

    seen: list = field(default_factory=list)
    made: list = field(default_factory=list)

    def __call__(self, query):
        self.seen.append(query)
        self.made.append(Gradient()(query))
        return self.made[-1]


@pytest.fixture
def query():
    return ask(cnn(), data(4, 2, 8, 8))


def test_absolute_and_positive_look_at_entries(query):
    raw = InputXGradient()(query)
    assert raw.min() < 0 < raw.max()
    assert torch.equal(Absolute(InputXGradient())(query), raw.abs())
    assert torch.equal(Positive(InputXGradient())(query), torch.where(raw > 0, raw, 0.0))


def test_pooling_adds_up_features_and_does_not_commute_with_absolute(query):
    raw = Gradient()(query)
    assert_close(Pooled()(query), raw[:, 0] + raw[:, 1])
    assert_close(Pooled(Absolute())(query), raw.abs().sum(1))
    assert_close(Absolute(Pooled())(query), raw.sum(1).abs())
    assert torch.equal(Pooled(RandomMap())(query), RandomMap()(query))


def test_pooling_a_one_hot_block_gives_one_number():
    query = ask(mlp(), data(3, 6), features=Columns((0, 1, 1, 1, 2, 2)))
    raw = Gradient()(query)
    assert_close(Pooled()(query), torch.stack([raw[:, 0], raw[:, 1:4].sum(1), raw[:, 4:].sum(1)], 1))


@pytest.mark.parametrize("reduce, numpy", [("mean", np.mean), ("variance", np.var)])
def test_smoothed_reduces_over_what_the_method_returned(query, reduce, numpy):
    spy = Spy()
    found = Smoothed(spy, samples=7, noise=0.5, reduce=reduce)(query)
    assert_close(found, torch.from_numpy(numpy(torch.stack(spy.made).numpy(), axis=0)), rtol=1e-4, atol=1e-6)
    assert len(spy.made) == 7


def test_smoothed_square_is_the_mean_of_squares(query):
    spy = Spy()
    found = Smoothed(spy, samples=5, reduce="square")(query)
    assert_close(found, torch.stack(spy.made).square().mean(0), rtol=1e-5, atol=1e-7)


def test_noise_has_the_standard_deviation_that_was_asked_for(query):
    spy = Spy()
    Smoothed(spy, samples=64, noise=0.3)(query)
    noise = torch.stack([seen.x - query.x for seen in spy.seen])
    count = noise.numel()  # 32768: standard errors 0.3 / sqrt(n) and 0.3 / sqrt(2 n)
    assert abs(noise.mean()) < 4 * 0.3 / count**0.5
    assert abs(noise.std() - 0.3) < 4 * 0.3 / (2 * count) ** 0.5
    assert abs(torch.corrcoef(noise.flatten(2)[:, 0])[0, 1]) < 4 / 128**0.5  # copies have noise of their own
    assert all(torch.equal(seen.baseline, query.baseline) for seen in spy.seen)


def test_every_copy_has_randomness_of_its_own(query):
    found = Smoothed(RandomMap(), samples=400)(query)
    assert abs(found.mean() - 0.5) < 0.01
    assert found.std() < 0.03  # one map 400 times would keep 0.29


def test_no_noise_is_the_method_itself(query):
    assert_close(Smoothed(IntegratedGradients(8), samples=3, noise=0.0)(query), IntegratedGradients(8)(query))


def test_a_fitted_inner_method_gets_what_its_fit_found():
    query = ask(mlp(), data(4, 6))
    asked = fitted(Agop(), query)
    assert torch.equal(Absolute(Agop())(fitted(Absolute(Agop()), query)), Agop()(asked))


def test_first_rows_are_attributed_by_their_number_and_the_others_get_zeros():
    spy = Spy()
    query = ask(mlp(), data(6, 6), features=Columns((0, 0, 1, 1, 2, 3)))
    whole, found = Pooled()(query), FirstRows(spy, rows=3)(query)
    assert_close(found[:3], whole[:3])
    assert not found[3:].any()
    assert query.remarks.notes == {"not attributed, hence 0": 3}
    assert [len(asked.x) for asked in spy.seen] == [3]  # the others cost nothing
    assert_close(FirstRows(rows=3)(rows(query, slice(2, 6))), found[2:])
    assert not FirstRows(spy, rows=3)(rows(query, slice(3, 6))).any()
    assert len(spy.seen) == 1
