"""Relevance is conserved where the rules conserve it, and a model without rules is not applicable."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from assay.core.errors import NotApplicable
from assay.kit.backward.chefer import RelevanceScope, attention_relevance
from scenes import data, randomised
from streams import seeded

S, WIDTH, HEADS = 4, 6, 2
MIX = torch.randn(WIDTH, WIDTH, generator=torch.Generator().manual_seed(3)).double()


def heads(x):
    parts = x.unflatten(2, (HEADS, -1)).transpose(1, 2)
    return F.scaled_dot_product_attention(parts, parts, parts).transpose(1, 2).flatten(2)


class Model(nn.Module):
    """Attention, then ``after``, then the first position."""

    def __init__(self, after=lambda x: x, learned=True):
        super().__init__()
        self.after, self.learned = after, nn.Parameter(torch.ones(WIDTH, dtype=torch.float64), learned)

    def forward(self, x):
        return self.after(heads(x * self.learned))[:, 0]


def propagated(function, *inputs):
    """The relevance that a function hands to its inputs when each of its outputs has received a random amount."""
    leaves = [value.clone().requires_grad_() for value in inputs]
    scope = RelevanceScope(len(inputs[0]))
    with scope:
        output = function(*leaves)
    received = data(*output.shape, seed=9).double()
    return received, torch.autograd.grad(output, leaves, received)


def totals(values):
    return values.flatten(1).sum(dim=1)


KEEPING = {
    "sum": lambda a, b: a + b,
    "difference": lambda a, b: a - b,
    "sum in place": lambda a, b: (a * 1).add_(b),
    "sum of unlike shapes": lambda a, b: a + b[:, :1],
    "product": lambda a, b: a @ b.transpose(1, 2),
    "batched product": lambda a, b: torch.bmm(a, b.mT),
    "einsum": lambda a, b: torch.einsum("bid,bjd->bij", a, b),
    "constants": lambda a, b: 1 + ((a * 3 - 2) / 4 + (5 - b) + MIX[0]) * MIX[1],
    "functions": lambda a, b: F.layer_norm(F.gelu(a), (WIDTH,)) + torch.relu(b).tanh().softmax(-1) - F.silu(-a),
    "curves": lambda a, b: F.selu(a) + F.elu(b),
    "moves": lambda a, b: torch.cat([a.transpose(1, 2).flip(1), b.flatten(1).unflatten(1, (WIDTH, S))], 1)[:, 1:],
    "mean": lambda a, b: torch.cat([a.mean(dim=1), b.sum(1)], dim=1),
}


@pytest.mark.parametrize("name", KEEPING)
def test_relevance_is_kept_sample_by_sample(name):
    received, relevances = propagated(KEEPING[name], data(3, S, WIDTH).double(), data(3, S, WIDTH, seed=2).double())
    assert_close(sum(map(totals, relevances)), totals(received), rtol=1e-6, atol=1e-6)
    assert totals(received).std() > 0.1


def test_linear_layers_hand_everything_to_positive_contributions():
    x, weight = data(3, WIDTH).double(), MIX[:4]
    for function in (
        lambda x: F.linear(x, weight, weight[:, 0]),
        lambda x: x @ weight.T,
        lambda x: torch.einsum("bi,ji->bj", x, weight),
        lambda x: (weight @ x.T).T,
        lambda x: F.conv1d(x[:, :, None], weight[:, :, None], weight[:, 0])[:, :, 0],
    ):
        received, (input_relevance,) = propagated(function, x)
        positive = (x[:, None] * weight).clamp(min=0)  # (N, outputs, inputs)
        expected = (positive / positive.sum(dim=2, keepdim=True) * received[:, :, None]).sum(dim=1)
        assert_close(input_relevance, expected, rtol=1e-6, atol=1e-9)


def test_a_sum_gives_each_a_part_by_the_size_of_its_share():
    a, b = torch.tensor([[1.0, 2.0]]).double(), torch.tensor([[3.0, -1.5]]).double()
    _, (left, right) = propagated(lambda a, b: a + b, a, b)
    received = data(1, 2, seed=9).double()
    shares = a / (a + b) * received, b / (a + b) * received
    size = shares[0].sum().abs() + shares[1].sum().abs()
    for input_relevance, share in ((left, shares[0]), (right, shares[1])):
        assert_close(
            input_relevance, share / share.sum() * share.sum().abs() / size * received.sum(), rtol=1e-6, atol=1e-9
        )


def test_samples_do_not_meet_in_sums():
    a, b = data(3, S, WIDTH).double(), data(3, S, WIDTH, seed=2).double()
    _, together = propagated(lambda a, b: a + b, a, b)
    # positions first: the second axis holds the samples
    _, turned = propagated(lambda a, b: (a.transpose(0, 1) + b.transpose(0, 1)).transpose(0, 1), a, b)
    assert_close(turned[0], together[0], rtol=1e-9, atol=1e-12)


def test_a_factor_of_zero_hands_nothing_on():
    mask = torch.tensor([1.0, 0, 1, 0, 1, 0]).double()
    received, (input_relevance,) = propagated(lambda x: x * mask, data(2, WIDTH).double())
    assert torch.equal(input_relevance, received * mask)


@pytest.mark.parametrize("learned", [True, False])
@seeded()
def test_weights_that_could_learn_are_constants_all_the_same(learned):
    layers = randomised(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH))).double().requires_grad_(learned)
    x, target = data(3, S, WIDTH).double(), torch.tensor([0, 1, 2])
    (matrices,) = attention_relevance(Model(layers, learned), x, target, 0)
    (expected,) = attention_relevance(Model(layers.requires_grad_(False), False), x, target, 0)
    assert_close(matrices, expected, rtol=0, atol=0)


def unseen(x):
    """A skip connection as a compiled part would make it: no call that Python sees."""
    with torch._C.DisableTorchFunction():
        return x + x.flip(1)


class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad


REFUSED = {
    "Mul": lambda x: x * x,
    "Div": lambda x: x / x.sum(),
    "Reciprocal": lambda x: 1 / x,
    "Exp": torch.exp,
    "Pow": lambda x: x**2,
    "Cumsum": lambda x: x.cumsum(1),
    "Amax": lambda x: x + x.amax(1, keepdim=True),
    "Add": lambda x: torch.add(x, x.flip(1), alpha=2),
    "NativeLayerNorm": lambda x: F.layer_norm(MIX[0].expand_as(x), (WIDTH,), x[0, 0]),
    "Own": Own.apply,
}


@pytest.mark.parametrize("operation", REFUSED)
def test_what_has_no_rule_is_named(operation):
    model, x = Model(REFUSED[operation]), data(3, S, WIDTH).double()
    with pytest.raises(NotApplicable, match=f"needs layers that its rules cover, and the model computes .*{operation}"):
        attention_relevance(model, x, torch.tensor([0, 1, 2]), 0)


def test_what_python_does_not_call_is_found_too():
    model, x = Model(unseen), data(3, S, WIDTH).double()
    with pytest.raises(NotApplicable, match="model computes Add"):
        attention_relevance(model, x, torch.tensor([0, 1, 2]), 0)


def test_before_the_first_layer_that_counts_anything_goes():
    class Early(nn.Module):
        def forward(self, x):
            return heads(heads(x.exp().cumsum(1)) ** 2 + x.amax(1, keepdim=True))[:, 0]

    x, target = data(3, S, WIDTH).double(), torch.tensor([0, 1, 2])
    assert len(attention_relevance(Early(), x, target, 1)) == 1
    with pytest.raises(NotApplicable, match="model computes Pow"):
        attention_relevance(Early(), x, target, 0)


def test_sums_that_mix_samples_are_refused():
    model = Model(lambda x: (x.flatten(0, 1) + x.flip(1).flatten(0, 1)).unflatten(0, (len(x), -1)))
    with pytest.raises(NotApplicable, match="keep samples apart"):
        attention_relevance(model, data(3, S, WIDTH).double(), torch.tensor([0, 1, 2]), 0)


class Encoder(nn.Module):
    @seeded()
    def __init__(self, first, norm_first):
        super().__init__()
        self.first = first
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 8, batch_first=first, norm_first=norm_first)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x):
        return self.layers(x)[:, 0] if self.first else self.layers(x.transpose(0, 1))[0]


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("count", [3, S])
def test_pytorchs_layers_are_covered_wherever_they_keep_samples(count, norm_first):
    x, target = data(count, S, WIDTH).double(), torch.arange(count)
    batch_first, batch_second = (randomised(Encoder(first, norm_first)).double() for first in (True, False))
    for left, right in zip(
        attention_relevance(batch_first, x, target, 0), attention_relevance(batch_second, x, target, 0), strict=True
    ):
        assert_close(left, right, rtol=1e-9, atol=1e-9 * float(left.abs().max()))
        assert left.abs().max() > 1e-3
