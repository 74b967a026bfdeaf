"""One number per row: a value, or what is said about the second of two classes."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close

from assay.core.errors import SpecError
from assay.core.features import Columns
from assay.users.rows import Rows
from assay.users.take import take_model
from streams import seeded

X = torch.randn(12, 4, generator=torch.Generator().manual_seed(0))
ROWS = Rows(X, Columns.plain(4), "table")
TWO = np.array([0, 1] * 6)


@seeded()
def net(*more):
    return nn.Sequential(nn.Linear(4, 1), *more).eval()


def score(model=None):
    with torch.no_grad():
        return (model or net())(X).flatten()


def labelled(label):
    return replace(ROWS, label=np.asarray(label))


@pytest.mark.parametrize(
    "label", [TWO, TWO == 1, TWO.astype(float), np.zeros(12, int)], ids=["int", "bool", "float", "one"]
)
@pytest.mark.parametrize("shape", [(), (nn.Flatten(0),)], ids=["(N, 1)", "(N,)"])
def test_labels_of_two_classes_make_a_logit_of_two_classes(label, shape):
    taken = take_model(net(*shape), labelled(label))
    assert_close(taken.module(X), torch.stack([-score() / 2, score() / 2], dim=1))
    assert (taken.outputs, taken.count) == ("logits", 2)
    assert taken.notes == ("The model answers with logits of 2 classes, its one output z as (-z/2, z/2).",)


def test_the_softmax_of_both_is_the_sigmoid_of_the_one():
    found = take_model(net(), ROWS, outputs="logits").module(X).softmax(dim=1)
    assert_close(found[:, 1], score().sigmoid())


class Squashes(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return torch.sigmoid(self.inner(x))


@pytest.mark.parametrize(
    "model", [lambda: net(nn.Sigmoid()), lambda: Squashes(net()).eval()], ids=["module", "function"]
)
def test_a_probability_is_that_of_the_second_class(model):
    for given in ({"rows": labelled(TWO)}, {"rows": ROWS, "outputs": "probabilities"}):
        taken = take_model(model(), **given)
        assert_close(taken.module(X), torch.stack([1 - score().sigmoid(), score().sigmoid()], dim=1))
        assert taken.outputs == "probabilities"
        assert "its one output p as (1 - p, p)" in taken.notes[0]
    with pytest.raises(SpecError, match=r"a probability .* and logits were promised: give outputs='probabilities'"):
        take_model(model(), labelled(TWO), outputs="logits")


def test_without_labels_a_sigmoid_at_the_end_says_that_it_is_a_probability():
    assert take_model(net(nn.Sigmoid()), ROWS).outputs == "probabilities"
    with pytest.raises(SpecError, match=r"outputs='value' .* outputs='probabilities'"):
        take_model(Squashes(net()).eval(), ROWS)
    with pytest.raises(SpecError, match=r"one number per row: is it a value, .* outputs='value' .* outputs='logits'"):
        take_model(net(), ROWS)


def test_a_small_logit_between_0_and_1_is_no_probability():
    small = nn.Sequential(net(), nn.Threshold(-1e9, 0.0)).eval()
    with torch.no_grad():
        small[0][0].weight.mul_(0.01)
        small[0][0].bias.fill_(0.5)
    assert bool(((small(X) > 0) & (small(X) < 1)).all())
    assert take_model(small, labelled(TWO)).outputs == "logits"


@pytest.mark.parametrize("label", [np.linspace(0, 3, 12), np.arange(12), np.array([0.5] * 12)])
def test_other_labels_are_values(label):
    taken = take_model(net(), labelled(label))
    assert (taken.outputs, taken.count) == ("value", 1)
    assert_close(taken.module(X)[:, 0], score())
    assert taken.notes == ("The model answers with a value.",)


def test_a_value_stays_one_where_it_is_asked_for():
    taken = take_model(net(nn.Flatten(0)), labelled(TWO), outputs="value")
    assert_close(taken.module(X)[:, 0], score())
    assert taken.outputs == "value"


@pytest.mark.parametrize(
    "label, words",
    [
        (np.array(["no", "yes"] * 6), "label holds text: write label as 0 and 1"),
        (np.array(["a", "b", "c"] * 4), "label has 3 classes: a number for each"),
        (2 * TWO - 1, "two values, -1 and 1: write classes as 0 and 1"),
    ],
)
def test_labels_that_leave_it_open_are_refused(label, words):
    with pytest.raises(SpecError, match=words):
        take_model(net(), labelled(label))


def test_what_is_no_probability_is_not_taken_for_one():
    with pytest.raises(SpecError, match="some are no probabilities, below 0 or above 1: are they logits"):
        take_model(net(), ROWS, outputs="probabilities")
