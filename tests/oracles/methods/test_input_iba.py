"""Input IBA, against its three stages written out with PyTorch's modules and optimisers and the same random numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import pytest
import torch
from torch import Tensor, nn
from torch.distributions import Normal, kl_divergence
from torch.nn import functional as F
from torch.testing import assert_close

from assay.core.errors import NotApplicable, SpecError
from assay.core.query import Query
from assay.methods.input_iba import InputIba
from oracles.methods.bottlenecks import feature_capacity, half_blind, smoothed, statistics
from oracles.methods.cams import split
from scenes import ask, cnn, data, fitted, mlp, rows
from streams import seeded

SMALL = InputIba(
    "body.1",
    feature_beta=10.0,
    feature_steps=9,
    beta=2.0,
    steps=5,
    copies=3,
    targets=10,
    group=5,
    batch=4,
    epochs=2,
    every=2,
    critic_lr=1e-3,
    clip=0.05,
    hidden=(7, 6),
)
QUICK = InputIba(
    feature_steps=2, steps=2, copies=8, targets=10, group=5, batch=10, epochs=1, hidden=(4, 4), feature_beta=1.0
)


@seeded()
def critic_of(query, channels, height, width, hidden):
    """The critic as modules; its weights come from the sample's stream, layer by layer."""
    convolutions = [(channels, 2 * channels, 4, 2), (2 * channels, 4 * channels, 4, 2), (4 * channels, channels, 3, 1)]
    modules = []
    for into, out, side, stride in convolutions:
        modules += [nn.Conv2d(into, out, side, stride, 1), nn.BatchNorm2d(out), nn.LeakyReLU(0.2)]
    widths = (channels * (height // 4) * (width // 4), *hidden, 1)
    modules += [nn.Flatten()]
    for into, out in pairwise(widths):
        modules += [nn.Linear(into, out), nn.LeakyReLU(0.2)]
    net, draws = nn.Sequential(*modules[:-1]).double(), query.draws("critic")
    for module in net:
        if isinstance(module, nn.Conv2d | nn.Linear):
            bound = module.weight[0].numel() ** -0.5
            module.weight.data.copy_(bound * (2 * draws.uniform(*module.weight.shape)[0].double() - 1))
            module.bias.data.copy_(bound * (2 * draws.uniform(*module.bias.shape)[0].double() - 1))
    return net


def targets_of(method, query, features, capacity):
    draws, groups = query.draws("targets"), method.targets // method.group
    deviations = [5 * float(share) for share in draws.uniform(groups)[0]]
    means = [4 * float(share) - 2 for share in draws.uniform(groups)[0]]
    made = []
    for number, noise in enumerate(draws.normal(method.targets, *features.shape)[0].double()):
        group = number // method.group
        made.append(capacity * features + (1 - capacity) * (deviations[group] * noise + means[group]))
    return torch.stack(made)


def prior_of(method, query, before, features, capacity):
    """The second stage: the generator's mask, (channels, height, width)."""
    x = query.x[0]
    targets = targets_of(method, query, features, capacity)
    critic = critic_of(query, *features.shape, method.hidden)
    bits = capacity.sum(dim=0) / torch.log(torch.tensor(2.0).double()) * features[0].numel() / x[0].numel()
    start = F.interpolate(bits[None, None], x.shape[1:], mode="bilinear")[0]
    mask = start.expand_as(x).clone().requires_grad_()
    mean = torch.zeros(len(x), 1, 1).double().requires_grad_()
    deviation = torch.ones(len(x), 1, 1).double().requires_grad_()
    for_critic = torch.optim.RMSprop(critic.parameters(), lr=method.critic_lr)
    rates = ((mask, 0.003), (mean, 0.1), (deviation, 0.05))
    for_generator = torch.optim.RMSprop([{"params": [parameter], "lr": rate} for parameter, rate in rates])
    draws = query.draws("generator")
    for _ in range(method.epochs):
        order = draws.permutations(method.targets)[0].tolist()
        for number, first in enumerate(range(0, method.targets, method.batch)):
            real = targets[order[first : first + method.batch]]
            noise = draws.normal(len(real), *x.shape)[0].double()
            share = mask.sigmoid()
            fake = before(share * x + (1 - share) * (deviation * noise + mean))
            for_critic.zero_grad()
            (critic(fake.detach()).mean() - critic(real).mean()).backward()
            for_critic.step()
            for parameter in critic.parameters():
                parameter.data.clamp_(-method.clip, method.clip)
            if number % method.every == 0:
                for_generator.zero_grad()
                (-critic(fake).mean()).backward()
                for_generator.step()
    return mask.sigmoid().detach()


def literal(method, net, query):
    """The map of one image."""
    before, after = split(net, method.layer)
    x, target = query.x[0], int(query.target[0])
    reference = statistics(before(query.setting.reference.x).detach())
    features = before(x[None])[0].detach()
    draws = query.draws("noise")
    noises = [draws.normal(method.copies, *features.shape)[0].double() for _ in range(method.feature_steps)]

    def loss(maps):
        return -torch.log_softmax(after(maps), 1)[:, target].mean()

    capacity = feature_capacity(features, reference, loss, noises, method.feature_beta, sigma=0)
    g = prior_of(method, query, before, features, capacity)
    alpha = torch.full_like(x, 5.0, requires_grad=True)
    adam, draws = torch.optim.Adam([alpha], lr=1.0), query.draws("input")
    for _ in range(method.steps):
        share = smoothed(alpha.sigmoid(), 1.0)
        seen, known = Normal(share * x, 1 - share), Normal(g * share * x, 1 - g * share)
        noise = draws.normal(method.copies, *x.shape)[0].double()
        lost = loss(before(share * x + (1 - share) * noise))
        adam.zero_grad()
        (lost + method.beta * kl_divergence(seen, known).mean()).backward()
        adam.step()
    return alpha.sigmoid().mean(dim=0).detach(), g


def test_the_map_is_the_literal_one():
    net = cnn().double().requires_grad_(False)
    query = fitted(SMALL, ask(net, data(2, 2, 8, 8).double()))
    found = SMALL(query)
    for row in range(2):
        expected, _ = literal(SMALL, net, rows(query, slice(row, row + 1)))
        assert_close(found[row], expected, rtol=1e-7, atol=1e-10)
    assert 0 < found.min() < found.max() < 1


def test_the_generators_mask_moves_from_the_bits_of_the_layer():
    net = cnn().double().requires_grad_(False)
    query = fitted(SMALL, ask(net, data(1, 2, 8, 8).double()))
    capacity = SMALL._at_layer.capacity(query, net.body[1])
    start = replace(SMALL, epochs=0).prior(query, net.body[1], capacity)
    bits = capacity.sum(dim=1, keepdim=True) / torch.log(torch.tensor(2.0).double())
    assert_close(start, bits.sigmoid().expand_as(query.x))  # the layer is as large as the image
    moved = SMALL.prior(query, net.body[1], capacity)
    _, expected = literal(SMALL, net, query)
    assert_close(moved[0], expected, rtol=1e-7, atol=1e-10)
    assert (moved - start).abs().max() > 1e-3


def test_what_the_network_does_not_see_is_not_let_through():
    query = ask(half_blind(), data(2, 1, 8, 8))
    query = replace(query, target=query.outputs(query.x).argmax(dim=1))
    method = InputIba("body.1", feature_beta=1.0, beta=1.0, steps=20, sigma=0.0, epochs=2, hidden=(16, 8))
    found = method(fitted(method, query))
    seen, unseen = found[:, :, :4], found[:, :, 4:]
    assert (seen.mean(dim=(1, 2)) > 20 * unseen.mean(dim=(1, 2))).all()
    assert (seen.amax(dim=(1, 2)) > 0.5).all()


@dataclass(frozen=True)
class Told(InputIba):
    """Input IBA that is told the second stage's result: almost all of the upper half, nothing of the lower one."""

    def prior(self, query: Query, layer: nn.Module, capacity: Tensor) -> Tensor:
        height = query.x.shape[2]
        share = 0.999 * (torch.arange(height) < height // 2)
        return share.view(1, 1, -1, 1).expand_as(query.x)


def test_what_the_layer_explains_is_let_through_more_easily():
    query = fitted(SMALL, ask(half_blind(scale=0.5), torch.ones(2, 1, 8, 8)))
    query = replace(query, target=torch.zeros(2, dtype=torch.long))  # for which every pixel on the left says the same
    found = Told("body.1", steps=20, beta=5.0)(query)[:, :, :4]
    assert (found[:, :4].mean(dim=(1, 2)) > 20 * found[:, 4:].mean(dim=(1, 2))).all()


@pytest.mark.parametrize("name", ["body.0", "body.4"])
def test_a_map_has_the_same_bits_in_any_block(name):
    method = replace(QUICK, layer=name)
    query = fitted(method, ask(cnn(), data(3, 2, 8, 8)))
    alone = torch.cat([method(rows(query, slice(row, row + 1))) for row in range(3)])
    assert torch.equal(method(query), alone)


def test_numbers_of_one_output_are_explained_by_their_distance():
    query = ask(half_blind(outputs=1), data(2, 1, 8, 8))
    found = QUICK(fitted(QUICK, query))
    assert found.shape == (2, 8, 8)
    explicit = replace(QUICK, objective="squared_error")
    assert torch.equal(explicit(fitted(explicit, query)), found)


def test_where_it_does_not_apply():
    with pytest.raises(NotApplicable, match="needs a convolutional layer"):
        fitted(InputIba(), ask(mlp(), data(2, 6)))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"targets": 30}, "whole groups"),
        ({"batch": 1}, "cannot normalise"),
        ({"targets": 40, "batch": 39}, "cannot normalise"),
        ({"every": 0}, "cannot fit a mask"),
        ({"std": 0.0}, "cannot fit a mask"),
        ({"sigma": -1.0}, "cannot fit a mask"),
        ({"copies": 0}, "cannot fit a mask"),
    ],
)
def test_what_fits_no_mask_is_refused(wrong, said):
    with pytest.raises(SpecError, match=said):
        InputIba(**wrong)
