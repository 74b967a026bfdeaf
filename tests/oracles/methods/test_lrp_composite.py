"""LRP's composites, against relevance sent through dense matrices output by output, and Captum."""

from __future__ import annotations

from copy import deepcopy

import captum.attr
import pytest
import torch
from captum.attr._utils.lrp_rules import Alpha1_Beta0_Rule, EpsilonRule, GammaRule
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from assay.core.errors import NotApplicable, SpecError
from assay.core.machine import Machine
from assay.core.question import Question
from assay.core.rng import Stream
from assay.engine.artifacts.answer import make_query
from assay.environments.pixel_count import PixelCount
from assay.kit.backward.lrp_module import LrpModule
from assay.kit.backward.lrp_rules import Epsilon, Gamma
from assay.methods.lrp_composite import LrpComposite
from scenes import Flat, ask, cnn, data, mlp, randomised
from streams import seeded

EPSILON, GAMMA, LOW, HIGH = 0.05, 0.25, -5.0, 6.0
COMPOSITES = {
    "epsilon_plus": ("plus", "plus"),
    "epsilon_plus_flat": ("plus", "flat"),
    "epsilon_gamma_box": ("gamma", "box"),
    "epsilon_alpha2_beta1": ("alpha2_beta1", "alpha2_beta1"),
    "epsilon_alpha2_beta1_flat": ("alpha2_beta1", "flat"),
}  # the rule of convolutions, and of a convolution that reads the input
composites = pytest.mark.parametrize("name", COMPOSITES)


def method(name):
    box = {"low": LOW, "high": HIGH} if "box" in name else {}
    return LrpComposite(name, epsilon=EPSILON, gamma=GAMMA, **box)


def matrix(function, shape):
    """A function that is linear but for a constant, as (outputs, inputs) and a bias, by asking about unit vectors."""
    count = torch.Size(shape).numel()
    bias = function(torch.zeros(1, *shape, dtype=torch.float64))
    units = function(torch.eye(count, dtype=torch.float64).reshape(count, *shape)) - bias
    return units.flatten(1).T.detach(), bias.flatten().detach(), bias.shape[1:]


def fractions(rule, value, weight, bias, reads, low, high):
    """Which share of one output's relevance goes to each input."""
    parts = value * weight
    up, down = parts.clamp(min=0), parts.clamp(max=0)
    output, above, below = parts.sum() + bias, up.sum() + max(bias, 0), down.sum() + min(bias, 0)
    none = torch.zeros_like(parts)
    match rule:
        case "epsilon":
            return parts / (output + (EPSILON if output >= 0 else -EPSILON))
        case "plus":
            return up / above if above else none
        case "alpha2_beta1":
            return (2 * up / above if above else none) - (down / below if below else none)
        case "gamma" if output >= 0:
            return (parts + GAMMA * up) / (output + GAMMA * above)
        case "gamma":
            return (parts + GAMMA * down) / (output + GAMMA * below)
        case "flat":
            return reads / reads.sum()
        case "box":
            least = low * weight.clamp(min=0) + high * weight.clamp(max=0)
            return (parts - least) / (parts - least).sum()


def pooled(layer, shape, value):
    """Pooling as a matrix: averages as they are, of a maximum the first winner."""
    if isinstance(layer, nn.AvgPool2d):
        weight, _, shape = matrix(layer, shape)
        return weight, shape
    best, winner = F.max_pool2d(value.view(1, *shape), layer.kernel_size, return_indices=True)
    weight = torch.zeros(best.numel(), value.numel(), dtype=torch.float64)
    for output, place in enumerate(winner.flatten().tolist()):
        channel = output // best[0, 0].numel()
        weight[output, channel * shape[1] * shape[2] + place] = 1
    return weight, best.shape[1:]


def literal(layers, x, target, name, low=LOW, high=HIGH):
    """Relevance of one sample, one layer and one output at a time."""
    steps, shape, value, seen, index = [], x.shape, x.flatten(), 0, 0
    convolution, first = COMPOSITES[name]
    while index < len(layers):
        layer, index = layers[index], index + 1
        if isinstance(layer, nn.Linear | nn.Conv2d):
            function, ones = layer, deepcopy(layer)
            if index < len(layers) and isinstance(layers[index], nn.BatchNorm2d):
                function, index = nn.Sequential(layer, layers[index]), index + 1
            nn.init.ones_(ones.weight)
            ones.bias = None
            rule = convolution if isinstance(layer, nn.Conv2d) else "epsilon"
            if seen == 0 and first in ("flat", "box"):
                rule = first
            seen += 1
            shape = shape if isinstance(layer, nn.Conv2d) else value.shape
            weight, bias, after = matrix(function, shape)
            steps.append((rule, value, weight, bias, matrix(ones, shape)[0]))
            value, shape = weight @ value + bias, after
        elif isinstance(layer, nn.BatchNorm2d):  # of its own: a diagonal layer whose bias keeps its share
            weight, bias, _ = matrix(layer, shape)
            steps.append(("own", value, weight, bias, None))
            value = weight @ value + bias
        elif isinstance(layer, nn.AvgPool2d | nn.MaxPool2d):
            weight, shape = pooled(layer, shape, value)
            steps.append(("own", value, weight, torch.zeros(len(weight)), None))
            value = weight @ value
        elif isinstance(layer, nn.ReLU):
            value = value.clamp(min=0)
    relevance = torch.zeros_like(value)
    relevance[target] = value[target]
    for rule, value, weight, bias, reads in reversed(steps):
        handed = torch.zeros_like(value)
        for j in range(len(weight)):
            if rule == "own":
                output = weight[j] @ value + bias[j]
                handed += relevance[j] * value * weight[j] / output if output else 0
            else:
                parts = fractions(rule, value, weight[j], float(bias[j]), reads[j], low, high)
                handed += relevance[j] * parts
        relevance = handed
    return relevance.reshape(x.shape)


def expected(query, name, layers, **box):
    return torch.stack([literal(layers, x, int(t), name, **box) for x, t in zip(query.x, query.target, strict=True)])


def flat_layers(net):
    return [module for module in net.modules() if not list(module.children())]


def normed(seed=0):
    layer = randomised(nn.BatchNorm2d(4), seed).double()
    layer.running_mean.copy_(0.3 * torch.arange(4) - 0.5)
    layer.running_var.copy_(0.5 + 0.4 * torch.arange(4))
    return layer


@composites
@pytest.mark.parametrize("pool", [lambda: nn.MaxPool2d(2), lambda: nn.AvgPool2d(2)])
def test_relevance_is_the_literal_one(name, pool):
    net = cnn(pool=pool).double()
    query = ask(net, data(3, 2, 8, 8).double())
    found = method(name)(query)
    assert_close(found, expected(query, name, flat_layers(net)), rtol=1e-9, atol=1e-11)
    assert found.abs().max() > 1e-3


@composites
def test_in_dense_networks_only_the_first_layer_has_another_rule(name):
    net = mlp().double()
    query = ask(net, data(3, 6).double())
    assert_close(method(name)(query), expected(query, name, list(net)), rtol=1e-9, atol=1e-11)


@seeded()
def small(*middle):
    """2 x 6 x 6 -> 3 classes, with layers in the middle of 4 channels."""
    body = nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), *middle, nn.Conv2d(4, 2, 3), nn.ReLU())
    return randomised(Flat(body, nn.Linear(32, 3)))


@composites
@pytest.mark.parametrize("inplace", [False, True])
def test_batch_normalisation_is_a_part_of_the_convolution_before_it_and_else_a_layer(name, inplace):
    for middle in ([nn.Identity(), nn.ReLU(inplace)], [nn.ReLU(inplace), nn.Identity()]):
        net = small(*middle).double()
        place = next(i for i, layer in enumerate(middle) if isinstance(layer, nn.Identity)) + 1
        net.body[place] = normed()
        query = ask(net, data(2, 2, 6, 6).double())
        found = method(name)(query)
        assert_close(found, expected(query, name, flat_layers(net)), rtol=1e-9, atol=1e-10)


def test_a_merged_normalisation_is_a_convolution_with_other_weights():
    net, plain = small(nn.ReLU()).double(), small(nn.ReLU()).double()
    norm = normed()
    net.body[0] = nn.Sequential(net.body[0], norm)
    scale = norm.weight / (norm.running_var + norm.eps).sqrt()
    with torch.no_grad():
        plain.body[0].weight.mul_(scale.view(-1, 1, 1, 1))
        plain.body[0].bias.sub_(norm.running_mean).mul_(scale).add_(norm.bias)
    x = data(3, 2, 6, 6).double()
    for name in COMPOSITES:
        assert_close(method(name)(ask(net, x)), method(name)(ask(plain, x)), rtol=1e-9, atol=1e-11)


@seeded()
def test_a_sum_of_two_paths_shares_relevance_in_proportion_to_its_summands():
    class Skip(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.inner, self.head = nn.Linear(4, 3), nn.Linear(3, 3), nn.Linear(3, 2)

        def forward(self, x):
            kept = F.relu(self.first(x))
            return self.head(F.relu(self.inner(kept) + kept))

    net = randomised(Skip()).double()
    query = ask(net, data(3, 4).double())

    def handed(layer, value, relevance):
        weight, bias = layer.weight.detach(), layer.bias.detach()
        rows = [fractions("epsilon", value, w, float(b), None, 0, 0) for w, b in zip(weight, bias, strict=True)]
        return sum(r * row for r, row in zip(relevance, rows, strict=True))

    for row, (x, target) in enumerate(zip(query.x, query.target, strict=True)):
        kept = net.first(x).relu().detach()
        inner = net.inner(kept).detach()
        total = inner + kept
        output = net.head(total.relu()).detach()
        top = handed(net.head, total.relu(), output * F.one_hot(target, 2))
        share = [top[i] * inner[i] / total[i] if total[i] > 0 else 0 * top[i] for i in range(3)]
        around = [top[i] * kept[i] / total[i] if total[i] > 0 else 0 * top[i] for i in range(3)]
        middle = handed(net.inner, kept, torch.stack(share)) + torch.stack(around)
        assert_close(method("epsilon_plus")(query)[row], handed(net.first, x, middle), rtol=1e-9, atol=1e-12)


class Scaled(nn.Module):
    """A network behind a shift and a scaling of its input, some of them negative."""

    def __init__(self, net, shift, scale):
        super().__init__()
        self.net = net
        self.register_buffer("shift", shift)
        self.register_buffer("scale", scale)

    def forward(self, x):
        return self.net((x - self.shift) / self.scale)


@composites
def test_an_input_that_is_shifted_and_scaled_gets_the_first_layers_relevance(name):
    shift, scale = data(6, seed=5).double(), data(6, seed=6).double()
    net = mlp().double()
    query = ask(Scaled(net, shift, scale), data(3, 6).double())
    inner = ask(net, (query.x - shift) / scale)
    ends = [(torch.full_like(shift, end) - shift) / scale for end in (LOW, HIGH)]
    box = {"low": torch.minimum(*ends), "high": torch.maximum(*ends)}
    assert_close(method(name)(query), expected(inner, name, list(net), **box), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("rule", ["plus", "gamma"])
def test_convolutions_without_bias_and_without_negative_inputs_are_captums(rule):
    """Captum leaves biases as they are where it changes weights, and lets negative inputs meet positive weights.

    Ours, as in the papers: a bias is the weight of an input that is 1, and contributions have signs, not weights.
    """
    net, x = cnn(pool=lambda: nn.MaxPool2d(2)).double(), data(4, 2, 8, 8).double().abs()
    for layer in flat_layers(net):
        if isinstance(layer, nn.Conv2d):
            layer.bias = None
    query = ask(net, x)
    if rule == "plus":
        found = LrpComposite(epsilon=EPSILON)(query)
    else:
        rules = {"linear": Epsilon(EPSILON), "conv2d": Gamma(GAMMA)}
        found = query.gradient_through(LrpModule(query.module, rules), query.x)
    for layer in flat_layers(net):
        if isinstance(layer, nn.Conv2d):
            layer.rule = Alpha1_Beta0_Rule() if rule == "plus" else GammaRule(GAMMA)
        elif isinstance(layer, nn.Linear):
            layer.rule = EpsilonRule(EPSILON)
    other = captum.attr.LRP(net).attribute(x.clone(), query.target).detach()
    assert_close(found, other, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ["epsilon_plus", "epsilon_plus_flat", "epsilon_gamma_box"])
def test_without_biases_attributions_sum_to_the_score(name):
    net = cnn().double()
    for layer in flat_layers(net):
        if hasattr(layer, "bias"):
            layer.bias = None
    query = ask(net, data(4, 2, 8, 8).double())
    box = {"low": LOW, "high": HIGH} if "box" in name else {}
    method = LrpComposite(name, epsilon=1e-12, **box)
    assert_close(method(query).flatten(1).sum(1), method.promised(query), rtol=1e-8, atol=1e-9)


class Functional(nn.Module):
    """``cnn`` with functions instead of modules, by name, in place."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        first, _, _, second, _ = self.net.body
        x = F.conv2d(x, weight=first.weight, bias=first.bias, padding=1)
        F.relu(x, inplace=True)
        x = torch.conv2d(x, second.weight, second.bias, 2, 1).relu_()
        return self.net.head(torch.flatten(x, 1))


@composites
def test_functions_count_as_much_as_modules(name):
    net, x = cnn().double(), data(3, 2, 8, 8).double()
    found = method(name)(ask(Functional(net), x))
    assert_close(found, method(name)(ask(net, x)), rtol=1e-12, atol=1e-13)


def test_counted_pixels_have_equal_shares():
    environment = PixelCount.tiny()
    samples = environment.sample(range(4), 0)
    query = make_query(environment.setting(0, {}), samples, Question(), Stream("test"), Machine())
    assert_close(LrpComposite()(query)[:, 0], samples.truth.effect, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["epsilon_plus", "epsilon_plus_flat"])
def test_what_no_rule_covers_is_named(name):
    for last, told in ((nn.Softmax(1), "Softmax"), (nn.LayerNorm(3), "LayerNorm")):
        with pytest.raises(NotApplicable, match=f"'model.5' is {told}"):
            method(name)(ask(nn.Sequential(*mlp(), last), data(2, 6)))
    with pytest.raises(NotApplicable, match="computes Mul"):
        method(name)(ask(Squared(mlp()), data(2, 6)))


class Squared(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        return self.net(x * x)


def test_a_rule_for_the_first_layer_needs_one():
    net = nn.Sequential(nn.ReLU(), *mlp())
    method("epsilon_plus")(ask(net, data(2, 6)))
    with pytest.raises(NotApplicable, match="needs a layer that reads the input"):
        method("epsilon_plus_flat")(ask(net, data(2, 6)))


def test_the_box_must_be_given_and_hold_the_input():
    for box in ({}, {"low": 0.0}, {"low": 1.0, "high": 1.0}):
        with pytest.raises(SpecError, match="needs low below high"):
            LrpComposite("epsilon_gamma_box", **box)
    with pytest.raises(NotApplicable, match=r"from low=0.0 to high=1.0"):
        LrpComposite("epsilon_gamma_box", low=0.0, high=1.0)(ask(mlp(), data(2, 6)))
    with pytest.raises(SpecError, match="epsilon above 0"):
        LrpComposite(epsilon=0.0)
