"""Exact integrated gradients, against rational arithmetic, networks rewritten with ReLUs, Captum and known truth."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import captum.attr
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from assay.core.errors import NotApplicable, SpecError
from assay.core.machine import Machine
from assay.core.question import Question
from assay.core.rng import Stream
from assay.engine.artifacts.answer import make_query
from assay.environments.color_count import ColorCount
from assay.environments.pixel_modulo import PixelModulo
from assay.kit.backward.softmax import mean_softmax_gradient
from assay.methods.exact_integrated_gradients import ExactIntegratedGradients
from assay.methods.integrated_gradients import IntegratedGradients
from scenes import TINY, ask, cnn, data, mlp, randomised, rows
from streams import seeded

EXACT = ExactIntegratedGradients()


def fractions(tensor):
    return [fractions(row) for row in tensor] if tensor.dim() else Fraction(tensor.item())


def literal(layers, x, start, target):
    """One sample in fractions: breakpoints layer by layer, then a gradient, unit by unit, in every piece."""
    dense = [(fractions(layer.weight), fractions(layer.bias)) for layer in layers if isinstance(layer, nn.Linear)]
    x, start = fractions(x), fractions(start)

    def before(alpha, depth):
        """What the layer of this depth gives, before its ReLU, at a place of the line."""
        value = [s + alpha * (e - s) for s, e in zip(start, x, strict=True)]
        for number, (weight, bias) in enumerate(dense[: depth + 1]):
            value = [max(v, Fraction(0)) for v in value] if number else value
            value = [
                b + sum(w * v for w, v in zip(row, value, strict=True)) for row, b in zip(weight, bias, strict=True)
            ]
        return value

    places = [Fraction(0), Fraction(1)]
    for depth in range(len(dense) - 1):
        found = set(places)
        for left, right in pairwise(places):
            for low, high in zip(before(left, depth), before(right, depth), strict=True):
                if low * high < 0:
                    found.add(left + (right - left) * low / (low - high))
        places = sorted(found)

    total = [Fraction(0)] * len(x)
    for left, right in pairwise(places):
        signal = [Fraction(int(unit == target)) for unit in range(len(dense[-1][1]))]
        for depth in reversed(range(len(dense))):
            weight = dense[depth][0]
            signal = [sum(g * row[i] for g, row in zip(signal, weight, strict=True)) for i in range(len(weight[0]))]
            if depth:
                middle = before((left + right) / 2, depth - 1)
                signal = [g if z > 0 else Fraction(0) for g, z in zip(signal, middle, strict=True)]
        total = [t + (right - left) * g for t, g in zip(total, signal, strict=True)]
    parts = [float(t * (e - s)) for t, s, e in zip(total, start, x, strict=True)]
    return torch.tensor(parts, dtype=torch.float64), len(places) - 1


def gap(query, attribution):
    difference = query.score(query.x) - query.score(query.baseline)
    return float((attribution.flatten(1).sum(1) - difference).abs().max())


def test_attributions_are_those_of_rational_arithmetic():
    query = ask(mlp().double(), data(2, 6).double(), baseline=data(1, 6, seed=7))
    expected = [
        literal(query.setting.model, x, start, int(target))
        for x, start, target in zip(query.x, query.baseline, query.target, strict=True)
    ]
    assert min(pieces for _, pieces in expected) > 3
    assert_close(EXACT(query), torch.stack([found for found, _ in expected]), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("readout", ["logit", "probability", "margin"])
def test_captum_comes_closer_the_more_steps_it_takes(readout):
    net = cnn(pool=lambda: nn.MaxPool2d(2)).double()
    query = ask(net, data(2, 2, 8, 8).double(), readout, baseline=0.3, temperature=2.0)
    found = EXACT(query)
    lines = captum.attr.IntegratedGradients(query.module)
    errors = []
    for steps in (30, 1500):
        other = lines.attribute(query.x, query.baseline, query.target, n_steps=steps, method="riemann_middle")
        errors.append(float((other - found).abs().max() / found.abs().max()))
    assert errors[1] < 2e-3
    assert errors[1] < errors[0] / 10


@pytest.mark.parametrize("readout", ["logit", "probability", "margin"])
def test_attributions_sum_to_the_score_difference(net, x, readout):
    query = ask(net.double(), 3 * x.double(), readout, baseline=0.3, temperature=0.2)
    assert gap(query, EXACT(query)) < 1e-11
    assert gap(query, IntegratedGradients(64)(query)) > 1e-3
    assert torch.equal(EXACT.promised(query), query.score(query.x) - query.score(query.baseline))


@pytest.mark.parametrize("spread", [0.01, 5.0, 500.0])
def test_the_softmax_is_integrated_to_rounding(spread):
    low, high = (spread * data(7, 4, seed=seed).double() for seed in (3, 4))
    target = torch.arange(7) % 4
    slopes = mean_softmax_gradient(low, high, target)
    change = (high.softmax(1) - low.softmax(1)).gather(1, target[:, None])[:, 0]
    assert_close((slopes * (high - low)).sum(1), change, rtol=0, atol=1e-14 * max(1, spread))
    fine = (torch.arange(20000, dtype=torch.float64) + 0.5) / 20000
    points = (low + fine[:, None, None] * (high - low)).requires_grad_()
    points.softmax(2).gather(2, target.expand(20000, -1)[..., None]).mean(0).sum().backward()
    assert_close(slopes, points.grad.sum(0), rtol=1e-3, atol=1e-4)


class Bent(nn.Module):
    """Two dense layers around a function."""

    @seeded()
    def __init__(self, function):
        super().__init__()
        self.function, self.first, self.last = function, nn.Linear(6, 8), nn.Linear(4, 3)

    def forward(self, x):
        return self.last(self.function(self.first(x)))


def folded(x, pair):
    return pair(*x.chunk(2, 1))


def half(x):
    return x[:, :4]


def larger(a, b):
    return b + F.relu(a - b)


REWRITTEN = {
    "abs": (lambda x: half(x).abs(), lambda x: F.relu(half(x)) + F.relu(-half(x))),
    "in place": (lambda x: half(x).clone().relu_(), lambda x: F.relu(half(x))),
    "clamp": (lambda x: half(x).clamp(-0.5, max=1), lambda x: F.relu(half(x) + 0.5) - F.relu(half(x) - 1) - 0.5),
    "clamp_min": (lambda x: half(x).clamp_min(0.2), lambda x: F.relu(half(x) - 0.2) + 0.2),
    "relu6": (lambda x: F.relu6(3 * half(x)), lambda x: F.relu(3 * half(x)) - F.relu(3 * half(x) - 6)),
    "hardtanh": (lambda x: F.hardtanh(half(x)), lambda x: F.relu(half(x) + 1) - F.relu(half(x) - 1) - 1),
    "leaky_relu": (lambda x: F.leaky_relu(half(x), 0.1), lambda x: F.relu(half(x)) - 0.1 * F.relu(-half(x))),
    "maximum": (lambda x: folded(x, torch.maximum), lambda x: folded(x, larger)),
    "minimum": (lambda x: folded(x, torch.min), lambda x: -folded(-x, larger)),
    "amax": (lambda x: x.view(-1, 4, 2).amax(2), lambda x: larger(x[:, ::2], x[:, 1::2])),
    "max": (lambda x: x.view(-1, 4, 2).max(dim=2).values, lambda x: larger(x[:, ::2], x[:, 1::2])),
    "pool": (lambda x: F.max_pool1d(x[:, None], 2)[:, 0], lambda x: larger(x[:, ::2], x[:, 1::2])),
    "three": (
        lambda x: F.max_pool1d(x[:, None], 3, stride=1)[:, 0, :4],
        lambda x: larger(larger(x[:, :4], x[:, 1:5]), x[:, 2:6]),
    ),
}


@pytest.mark.parametrize("name", REWRITTEN)
def test_other_functions_are_what_they_are_when_written_with_relu(name):
    written, rewritten = (randomised(Bent(function)).double() for function in REWRITTEN[name])
    x = 3 * data(5, 6).double()
    query = ask(written, x, baseline=-0.4)
    assert_close(EXACT(query), EXACT(ask(rewritten, x, baseline=-0.4)), rtol=1e-11, atol=1e-12)
    assert gap(query, EXACT(query)) < 1e-12


@pytest.mark.parametrize(
    ("function", "culprit"),
    [
        (lambda x: torch.tanh(half(x)), "computes Tanh"),
        (lambda x: half(x) * half(x), "computes Mul"),
        (lambda x: half(x).clamp(min=x[:, 4:]), "computes Clamp"),
        (lambda x: half(x) - x.max(), "computes Max"),
    ],
)
def test_what_is_not_made_of_known_straight_pieces_is_named(function, culprit):
    with pytest.raises(NotApplicable, match=culprit):
        EXACT(ask(randomised(Bent(function)), data(2, 6)))


@seeded()
def test_a_relu_out_of_reach_is_refused():
    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell, self.head = nn.RNN(6, 4, nonlinearity="relu", batch_first=True), nn.Linear(4, 3)

        def forward(self, x):
            return self.head(self.cell(x.unsqueeze(1))[0].squeeze(1))

    with pytest.raises(NotApplicable, match="needs layers that its rules cover"):
        EXACT(ask(randomised(Recurrent()), data(2, 6)))


def test_too_many_pieces_are_refused_and_the_parameter_named():
    query = ask(mlp(), data(3, 6))
    with pytest.raises(NotApplicable, match=r"at most 3 straight pieces .*limit"):
        ExactIntegratedGradients(limit=3)(query)
    with pytest.raises(SpecError, match="limit=0"):
        ExactIntegratedGradients(limit=0)


def test_batches_and_budgets_change_nothing_but_rounding(net, x):
    x = x[:2]
    query = ask(net.double(), x.double(), baseline=0.3)
    together = EXACT(query)
    alone = torch.cat([EXACT(rows(query, slice(i, i + 1))) for i in range(len(x))])
    assert_close(alone, together, rtol=1e-12, atol=1e-13)
    tight = Machine(memory=3 * query.footprint.gradient)
    assert_close(EXACT(ask(net, x.double(), baseline=0.3, machine=tight)), together, rtol=1e-12, atol=1e-13)
    assert_close(EXACT(ask(net.float(), x, baseline=0.3, machine=TINY)), together.float(), rtol=1e-5, atol=1e-6)


@seeded()
def test_a_unit_on_its_kink_all_along_passes_on_what_autograd_does_at_the_kink():
    net = nn.Sequential(nn.Linear(3, 2, bias=False), nn.ReLU(), nn.Linear(2, 2)).requires_grad_(False).double()
    net[0].weight.copy_(torch.tensor([[0.1, 0.2, -0.3], [1.0, 0.0, 0.0]], dtype=torch.float64))
    net[2].weight.fill_(1.0)
    x = torch.tensor([0.7, 1.0, 1.3], dtype=torch.float64)[:, None].expand(3, 3)
    assert bool((net[0](x / 2)[:, 0] != 0).any())  # rounding moves it off the kink
    assert_close(EXACT(ask(net, x)), x * torch.tensor([1.0, 0.0, 0.0]), rtol=1e-14, atol=0)


def test_on_the_modulo_network_every_white_pixel_has_an_equal_share_of_the_remainder():
    environment = PixelModulo.tiny()
    samples = environment.sample(range(6), 0)
    query = make_query(environment.setting(0, {}), samples, Question(), Stream("test"), Machine())
    white = samples.truth.effect[:, None]
    share = environment.remainder(samples) / white.flatten(1).sum(1)
    assert_close(EXACT(query), white * share.view(-1, 1, 1, 1), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("readout", "baseline"), [("probability", "zero"), ("logit", "true"), ("margin", "zero")])
def test_on_the_colour_network_the_sum_is_right_where_64_steps_miss_it(readout, baseline):
    environment = ColorCount.tiny()
    question = Question(readout=readout, baseline=baseline)
    query = make_query(environment.setting(0, {}), environment.sample(range(2), 0), question, Stream("test"), Machine())
    size = float((query.score(query.x) - query.score(query.baseline)).abs().max())
    assert gap(query, EXACT(query)) < 1e-6 * max(1.0, size)
    assert gap(query, IntegratedGradients(64, "midpoint")(query)) > 0.1 * size
