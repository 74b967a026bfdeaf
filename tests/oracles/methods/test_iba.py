"""IBA, against a literal descent with the same noise, and networks that are known to look at one half of the image."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from assay.catalogue.build import build
from assay.catalogue.registry import resolve
from assay.core.errors import NotApplicable, SpecError
from assay.core.machine import Machine
from assay.core.spec import Spec
from assay.methods.iba import Iba
from oracles.methods.bottlenecks import feature_capacity, half_blind, statistics
from oracles.methods.cams import enlarged, split
from scenes import Flat, ask, cnn, data, fitted, mlp, randomised
from streams import seeded


def literal(net, query, name, steps, copies, squared, **options):
    """The map of each image, in bits per pixel."""
    before, after = split(net, name)
    reference = statistics(before(query.setting.reference.x).detach())
    draws = query.draws("noise")
    noises = [draws.normal(copies, *reference[0].shape).double() for _ in range(steps)]
    maps = []
    for row, target in enumerate(query.target.tolist()):
        signal = before(query.x[row : row + 1])[0].detach()
        clean = after(signal[None])[0, target].detach()

        def loss(z, target=target, clean=clean):
            answers = after(z)
            if squared:
                return sum((answer[target] - clean) ** 2 for answer in answers) / len(answers)
            likelihoods = [torch.softmax(answer / query.question.temperature, 0)[target] for answer in answers]
            return -sum(torch.log(likelihood) for likelihood in likelihoods) / len(answers)

        own = [noise[row] for noise in noises]
        capacity = feature_capacity(signal, reference, loss, own, **options)
        maps.append(capacity.sum(dim=0) / torch.log(torch.tensor(2.0).double()))
    maps = torch.stack(maps)
    return enlarged(maps) * maps[0].numel() / 64


@pytest.mark.parametrize(
    ("name", "readout", "squared"),
    [("body.1", "logit", False), ("body.3", "probability", False), ("body.4", "value", True)],
)
@pytest.mark.parametrize("sigma", [1.0, 0.0, 0.6])
def test_the_map_is_the_literal_one(name, readout, squared, sigma):
    net = cnn().double()
    query = ask(net, data(3, 2, 8, 8).double(), readout, temperature=2.0)
    method = Iba(name, beta=3.0, steps=4, copies=3, sigma=sigma)
    expected = literal(net, query, name, 4, 3, squared, beta=3.0, sigma=sigma)
    assert_close(method(fitted(method, query)), expected, rtol=1e-9, atol=1e-12)
    assert expected.min() > 0


def test_the_defaults_are_the_papers():
    net = cnn().double()
    query = ask(net, data(2, 2, 8, 8).double())
    expected = literal(net, query, "body.1", 10, 10, False, beta=10, lr=1, start=5, sigma=1)
    assert_close(Iba("body.1")(fitted(Iba("body.1"), query)), expected, rtol=1e-8, atol=1e-12)


@seeded()
def test_one_output_is_compared_with_itself():
    net = randomised(Flat(cnn().body, nn.Linear(48, 1))).double()
    query = ask(net, data(2, 2, 8, 8).double())
    expected = literal(net, query, "body.1", 5, 3, True, beta=2.0)
    method = Iba("body.1", beta=2.0, steps=5, copies=3)
    assert_close(method(fitted(method, query)), expected, rtol=1e-9, atol=1e-12)
    with pytest.raises(NotApplicable, match="needs two classes or more"):
        replace(method, objective="cross_entropy")(fitted(method, query))


@pytest.mark.parametrize("objective", ["auto", "squared_error"])
def test_what_the_network_does_not_see_lets_nothing_through(objective):
    query = ask(half_blind(), data(6, 1, 8, 8))
    query = replace(query, target=query.outputs(query.x).argmax(dim=1))
    method = Iba("body.1", beta=1.0, sigma=0.0, objective=objective)
    found = method(fitted(method, query))
    seen, unseen = found[:, :, :4], found[:, :, 4:]
    assert (seen.mean(dim=(1, 2)) > 20 * unseen.mean(dim=(1, 2))).all()
    assert (seen.sum(dim=(1, 2)) > 1).all()  # bits
    smooth = Iba("body.1", beta=1.0, objective=objective)
    found = smooth(fitted(smooth, query))
    assert (found[:, :, :2].mean(dim=(1, 2)) > 5 * found[:, :, 6:].mean(dim=(1, 2))).all()


def test_expensive_information_is_not_let_through():
    query = ask(half_blind(), data(4, 1, 8, 8))
    totals = []
    for beta in (0.0, 1.0, 1e6):
        method = Iba("body.1", beta=beta, steps=25)
        totals.append(method(fitted(method, query)).sum(dim=(1, 2)))
    assert (totals[0] > totals[1]).all()
    assert (totals[1] > totals[2]).all()
    assert (totals[2] < 1e-3).all()


def test_the_map_adds_up_to_the_bits_of_the_layer():
    query = ask(half_blind(), data(2, 1, 8, 8))
    method = Iba("body.1")
    query = fitted(method, query)
    nats = method.capacity(query, query.setting.model.body[1])
    bits = nats.sum(dim=(1, 2, 3)) / torch.tensor(2.0).double().log()
    assert_close(method(query).sum(dim=(1, 2)).double(), bits, rtol=1e-6, atol=1e-6)  # the map is in float32


def test_neurons_that_are_silent_in_the_reference_are_zeroed():
    net = cnn().double()
    with torch.no_grad():
        net.body[0].bias[1] = -10.0  # above 0 in these samples, which are ten times larger, and never in the reference
    query = ask(net, 10 * data(2, 2, 8, 8).double())
    assert net.body[:2](query.x)[:, 1].any()
    method = Iba("body.1", steps=3)
    query = fitted(method, query)
    capacity = method.capacity(query, net.body[1])
    assert (capacity[:, 1] == 0).all()
    assert (capacity[:, 0] > 0).all()
    expected = literal(net, query, "body.1", 3, 10, False, beta=10.0)
    assert_close(method(query), expected, rtol=1e-9, atol=1e-12)
    busy = (net.body[:2](query.setting.reference.x) != 0).double().mean(dim=0)
    rare = Iba("body.1", active=0.5).fit(replace(query, x=query.setting.reference.x))
    assert torch.equal(rare["active"], (busy > 0.5).double())
    assert 0 < rare["active"].mean() < 1


def test_statistics_are_the_same_in_small_blocks():
    query = ask(cnn().double(), data(32, 2, 8, 8).double())
    few = replace(query, machine=Machine(memory=5 * query.footprint.gradient))
    assert len(list(few.blocks())) > 5
    whole, blocks = (Iba("body.1").fit(asked) for asked in (query, few))
    for name, values in whole.items():
        assert_close(blocks[name], values, rtol=1e-9, atol=1e-12)


class Bypassed(nn.Module):
    """Adds to a layer's output what was there before it."""

    def __init__(self, counts_rows=False):
        super().__init__()
        net = randomised(cnn())
        self.first, self.layer, self.head = net.body[:2], nn.Conv2d(4, 4, 3, padding=1), nn.Linear(4, 3)
        self.counts_rows = counts_rows

    def forward(self, x):
        rows, before = len(x), self.first(x)
        added = (self.layer(before) + before).relu().mean(dim=(2, 3))
        return self.head(added.view(rows, -1) if self.counts_rows else added)


@pytest.mark.parametrize("counts_rows", [False, True])
@pytest.mark.parametrize("samples", [1, 3])
@seeded()
def test_what_bypasses_the_layer_is_the_sample_s_own(samples, counts_rows, monkeypatch):
    net = randomised(Bypassed(counts_rows)).double().eval()
    method = Iba("layer", beta=3.0, steps=4, copies=3)
    query = fitted(method, ask(net, data(samples, 2, 8, 8).double()))
    found = method(query)
    monkeypatch.setattr("assay.methods.iba.answers_follow_from", lambda *_: False)  # every copy has its own row
    assert_close(found, method(query), rtol=1e-12, atol=1e-15)


class Shared(nn.Module):
    """One ReLU that runs twice."""

    def __init__(self, net, inplace=False):
        super().__init__()
        self.first, self.second, self.head = net.body[0], net.body[3], net.head
        self.relu = nn.ReLU(inplace)

    def forward(self, x):
        return self.head(self.relu(self.second(self.relu(self.first(x)))).flatten(1))


@pytest.mark.parametrize("inplace", [False, True])
def test_the_last_run_of_a_layer_counts_and_what_follows_may_work_in_place(inplace):
    net = cnn()
    plain, shared = ask(net, data(3, 2, 8, 8)), ask(Shared(net, inplace), data(3, 2, 8, 8))
    for name, same in (("relu", "body.4"), ("first", "body.0"), ("second", "body.3")):
        left, right = Iba(name, steps=4), Iba(same, steps=4)
        assert torch.equal(left(fitted(left, shared)), right(fitted(right, plain)))


def test_a_model_that_answers_with_probabilities_is_the_same_question():
    query = ask(cnn().double(), data(3, 2, 8, 8).double(), "probability")
    method = Iba("body.1", steps=4)
    expected = method(fitted(method, query))
    softened = nn.Sequential(query.setting.model, nn.Softmax(dim=1))
    setting = replace(query.setting, model=softened, outputs="probabilities")
    named = Iba("0.body.1", steps=4)
    assert_close(named(fitted(named, replace(query, setting=setting))), expected, rtol=1e-9, atol=1e-12)


def test_the_environment_may_choose_the_layer():
    query = ask(cnn(), data(2, 2, 8, 8))
    named, method = Iba("body.1", steps=2), Iba(steps=2)
    expected = named(fitted(named, query))
    hinted = replace(query, setting=replace(query.setting, hints={"iba": "body.1", "grad_cam": "body.0"}))
    assert torch.equal(method(fitted(method, hinted)), expected)
    assert not torch.equal(method(fitted(method, query)), expected)


@seeded()
def test_a_layer_of_one_place_is_smoothed_over_nothing():
    body = nn.Sequential(nn.Conv2d(2, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d((1, 2)))
    query = ask(randomised(Flat(body, nn.Linear(8, 3))), data(2, 2, 8, 8))
    method = Iba("body.2", steps=3)
    found = method(fitted(method, query))
    expected = F.interpolate(found[:, None, :1, [0, -1]], (8, 8), mode="bilinear")[:, 0]
    assert_close(found, expected)


def test_where_it_does_not_apply():
    with pytest.raises(NotApplicable, match="needs a convolutional layer"):
        fitted(Iba(), ask(mlp(), data(2, 6)))
    query = ask(cnn(), data(2, 2, 8, 8))
    with pytest.raises(NotApplicable, match="needs gradients"):
        fitted(Iba(), replace(query, setting=replace(query.setting, differentiable=False)))
    with pytest.raises(NotApplicable, match="at least 2 reference rows"):
        Iba().fit(replace(query, x=query.x[:1]))


@pytest.mark.parametrize(
    "wrong", [{"steps": 0}, {"copies": 0}, {"rows": 1}, {"lr": 0.0}, {"sigma": -1.0}, {"beta": -1}]
)
def test_what_fits_no_mask_is_refused(wrong):
    with pytest.raises(SpecError, match="cannot fit a mask"):
        Iba(**wrong)


@pytest.mark.parametrize("name", ["iba", "input_iba"])
def test_only_known_losses_are_taken(name):
    with pytest.raises(SpecError, match="squared_error"):
        build("methods", resolve("methods", Spec.parse(f"{name}(objective='squared')")))
