"""Bottlenecks: what passes, at its limits and against PyTorch's distributions; the optimisers against PyTorch's."""

from __future__ import annotations

from itertools import pairwise
from math import log

import pytest
import torch
from torch import nn
from torch.distributions import Normal, kl_divergence
from torch.nn import functional as F
from torch.testing import assert_close

from assay.core.rng import Draws
from assay.methods._bottleneck import Bottleneck, divergence, smoothing_matrix
from assay.methods.input_iba import Critic
from streams import seeded


def drawn(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def made(prior, sigma=0.0, active=1.0, dtype=torch.float64):
    numbers = (0.4, 1.7, active, prior)
    mean, deviation, active, prior = (torch.tensor(number, dtype=dtype) for number in numbers)
    return Bottleneck(drawn(2, 3, 5, 4, dtype=dtype), mean, deviation, sigma, active, prior)


@pytest.mark.parametrize("prior", [0.0, 0.3, 0.95])
def test_capacity_is_the_divergence_of_what_passes_from_what_is_known(prior):
    bottleneck, alpha = made(prior), 3 * drawn(2, 3, 5, 4, seed=1)
    share, x = alpha.sigmoid(), bottleneck.signal
    seen = Normal(share * x + (1 - share) * 0.4, (1 - share) * 1.7)
    prior_distribution = Normal(prior * share * x + (1 - prior * share) * 0.4, (1 - prior * share) * 1.7)
    assert_close(bottleneck.capacity(alpha), kl_divergence(seen, prior_distribution), rtol=1e-9, atol=1e-12)


def test_capacity_is_a_mean_of_log_ratios_over_draws():
    """The prior is the signal with a share g of it known: noise fills what g and then l leave, the same noise twice."""
    draws, x, g, share, mean, deviation = 400_000, 1.3, 0.6, 0.7, 0.4, 1.7
    noise = mean + deviation * drawn(draws, seed=2)
    seen = share * x + (1 - share) * noise
    prior_signal = share * (g * x + (1 - g) * noise) + (1 - share) * noise
    p, q = (
        Normal(share * x + (1 - share) * mean, (1 - share) * deviation),
        Normal(prior_signal.mean(), prior_signal.std()),
    )
    ratio = p.log_prob(seen) - q.log_prob(seen)
    numbers = (x, mean, deviation, 1.0, g)
    signal, mean, deviation, active, g = (torch.tensor(number).double().view(1, 1, 1, 1) for number in numbers)
    alpha = torch.tensor(share).double().logit().view(1, 1, 1, 1)
    capacity = float(Bottleneck(signal, mean, deviation, 0.0, active, g).capacity(alpha))
    assert abs(capacity - float(ratio.mean())) < 5 * float(ratio.std()) / draws**0.5 + 0.01 * capacity
    assert capacity > 0.05


def test_what_is_mixed_has_the_stated_mean_and_deviation():
    bottleneck, alpha = made(0.0), drawn(2, 3, 5, 4, seed=1)
    z, share = bottleneck.mixed(alpha, drawn(2, 20_000, 3, 5, 4, seed=3)), alpha.sigmoid()
    error = (1 - share) * 1.7 / 20_000**0.5
    expected = share * bottleneck.signal + (1 - share) * 0.4
    assert ((z.mean(dim=1) - expected).abs() < 5 * error).all()
    assert_close(z.std(dim=1), (1 - share) * 1.7, rtol=0.03, atol=0)


def test_an_open_mask_passes_everything_and_its_capacity_grows_without_bound():
    bottleneck = made(0.0, sigma=1.0, dtype=torch.float32)
    noise = drawn(2, 3, 3, 5, 4, seed=4, dtype=torch.float32)
    capacities = []
    for alpha in (5.0, 20.0, 60.0, 5000.0):
        opened = torch.full((2, 3, 5, 4), alpha, dtype=torch.float64)
        capacities.append(bottleneck.capacity(opened))
        assert capacities[-1].isfinite().all()
    assert_close(bottleneck.mixed(opened, noise), bottleneck.signal.unsqueeze(1).expand_as(noise), rtol=1e-6, atol=0)
    assert all((more > less).all() for less, more in pairwise(capacities))
    assert_close(capacities[2] - capacities[1], torch.full_like(capacities[0], 40.0), rtol=1e-6, atol=0)


def test_a_closed_mask_passes_nothing():
    bottleneck, noise = made(0.0), drawn(2, 3, 3, 5, 4, seed=4)
    closed = torch.full((2, 3, 5, 4), -50.0, dtype=torch.float64)
    assert_close(bottleneck.mixed(closed, noise), 0.4 + 1.7 * noise, rtol=1e-12, atol=1e-12)
    assert bottleneck.capacity(closed).abs().max() < 1e-12


def test_what_is_known_anyway_costs_nothing_and_silent_neurons_say_nothing():
    alpha, noise = drawn(2, 3, 5, 4, seed=1), drawn(2, 3, 3, 5, 4, seed=4)
    assert made(1.0 - 1e-12).capacity(alpha).abs().max() < 1e-9
    silent = made(0.0, active=0.0)
    assert (silent.capacity(alpha) == 0).all()
    assert (silent.mixed(alpha, noise) == 0).all()


def test_little_information_keeps_its_digits():
    alpha = torch.full((2, 3, 5, 4), -12.0, dtype=torch.float64)
    exact = made(0.0).capacity(alpha)
    assert_close(made(0.0, dtype=torch.float32).capacity(alpha), exact, rtol=1e-4, atol=0)


@pytest.mark.parametrize(("size", "sigma"), [(7, 1.0), (3, 1.0), (9, 1.6), (4, 0.5)])
def test_smoothing_is_a_convolution_with_mirrored_ends(size, sigma):
    reach = round(2 * sigma)
    kernel = torch.exp(-0.5 * (torch.arange(-reach, reach + 1).double() / sigma) ** 2)
    x = drawn(1, 1, size)
    expected = F.conv1d(F.pad(x, (reach, reach), mode="reflect"), (kernel / kernel.sum()).view(1, 1, -1))
    assert_close(smoothing_matrix(size, sigma, x) @ x[0, 0], expected[0, 0], rtol=1e-12, atol=1e-12)


def test_smoothing_of_short_axes_and_of_nothing():
    like = torch.zeros((), dtype=torch.float64)
    assert_close(smoothing_matrix(1, 1.0, like), like.new_ones(1, 1))
    assert_close(smoothing_matrix(2, 1.0, like).sum(dim=1), like.new_ones(2))
    assert torch.equal(smoothing_matrix(5, 0.0, like), torch.eye(5, dtype=torch.float64))


def test_the_divergence_of_the_standard_distribution_is_zero():
    assert float(divergence(torch.tensor(0.0), torch.tensor(1.0))) == 0
    assert_close(divergence(torch.tensor(2.0), torch.tensor(0.5)), torch.tensor(0.5 * (4 + 0.25 - 1) + log(2)))


@seeded()
def twin(critic, channels, features, hidden):
    """The critic as PyTorch's modules, with its weights."""
    convolutions = [(channels, 2 * channels, 4, 2), (2 * channels, 4 * channels, 4, 2), (4 * channels, channels, 3, 1)]
    modules = []
    for into, out, side, stride in convolutions:
        modules += [nn.Conv2d(into, out, side, stride, 1), nn.BatchNorm2d(out), nn.LeakyReLU(0.2)]
    modules += [nn.Flatten(), nn.Linear(features, hidden[0]), nn.LeakyReLU(0.2)]
    modules += [nn.Linear(hidden[0], hidden[1]), nn.LeakyReLU(0.2), nn.Linear(hidden[1], 1)]
    net = nn.Sequential(*modules).double()
    for parameter, weight in zip(net.parameters(), critic._weights(), strict=True):
        parameter.data.copy_(weight)
    return net


@pytest.mark.parametrize(("height", "width"), [(8, 8), (5, 11), (4, 7)])
def test_the_critic_learns_like_its_twin_of_modules(height, width):
    real, fake = 3 + drawn(6, 2, height, width), drawn(5, 2, height, width, seed=1)
    critic = Critic(Draws([("critic", 0)]), real, (7, 6), lr=1e-3, clip=0.05)
    net = twin(critic, 2, 2 * (height // 4) * (width // 4), (7, 6))
    optimiser = torch.optim.RMSprop(net.parameters(), lr=1e-3)
    for _ in range(4):
        assert_close(critic(real), net(real)[:, 0], rtol=1e-9, atol=1e-12)
        optimiser.zero_grad()
        (net(fake).mean() - net(real).mean()).backward()
        optimiser.step()
        for parameter in net.parameters():
            parameter.data.clamp_(-0.05, 0.05)
        critic.learn(real, fake)
    fake.requires_grad_()
    (-net(fake).mean()).backward()
    assert_close(critic.gradient_at(fake), fake.grad, rtol=1e-7, atol=1e-12)
    assert max(float(weight.abs().max()) for weight in critic._weights()) <= 0.05
    assert not any(weight.requires_grad for weight in critic._weights())


@pytest.mark.parametrize(("height", "width"), [(1, 1), (2, 3), (3, 9), (1, 6)])
def test_the_critic_takes_maps_of_any_size(height, width):
    real, fake = 3 + drawn(6, 2, height, width), drawn(6, 2, height, width, seed=1)
    critic = Critic(Draws([("critic", 0)]), real, (7, 6), lr=1e-3, clip=0.05)
    critic.learn(real, fake)
    assert critic(real).shape == (6,)
    assert critic.gradient_at(fake).abs().sum() > 0


def test_the_critics_weights_start_as_pytorchs_do():
    critic = Critic(Draws([("critic", 0)]), drawn(2, 8, 8, 8), (512, 256), lr=1e-3, clip=0.05)
    for weight, bias, *_ in (*critic.convolutions, *critic.linears):
        bound = weight[0].numel() ** -0.5
        assert weight.abs().max() <= bound
        assert bias.abs().max() <= bound
        assert_close(float(weight.std()), bound / 3**0.5, rtol=0.1, atol=0)
