"""Checks of the axioms that are tried out. Each takes what makes the metric."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from assay.core.errors import NotApplicable
from assay.core.machine import Machine
from assay.core.rng import Stream
from assay.core.setting import Reference, Setting
from assay.core.trial import Scene, Trial
from oracles.metrics import literal_again as literal
from oracles.metrics.again import LOGIT, Method, asked, products, squares
from oracles.metrics.checks_again import values_of
from oracles.metrics.refusals import refuses
from oracles.metrics.scenes import (
    BLOCKS,
    PIXELS,
    PLAIN,
    VALUE,
    Lambda,
    answer,
    image_scene,
    members,
    numbers,
    perceptron,
    scene,
    table_scene,
    take,
)
from streams import seeded

Make = Callable[..., Any]


def value_scene(x: Tensor, function: Callable[[Tensor], Tensor], **setting: Any) -> Scene:
    """A model that answers with one number, many rows a call."""
    model = Lambda(lambda x: function(x)[:, None])
    features = {7: PLAIN, 10: BLOCKS}.get(x.shape[1], PIXELS)
    where = replace(scene(x, model, features, VALUE), machine=Machine())
    return replace(where, setting=replace(where.setting, **setting))


# Dummy


def check_axiom_dummy(make: Make) -> None:
    _check_what_is_no_dummy(make)
    _check_blocks(make)
    _check_some_are_tried(make)
    _check_nothing_to_tell(make)
    _check_pixels(make)


def _check_what_is_no_dummy(make: Make) -> None:
    """Seven columns, two of which do nothing; some act at the canvas alone, below, at one value, or in a gap."""

    def model(x: Tensor) -> Tensor:
        at_canvas, below = (x[:, 0] == 0.25).double(), (5 - x[:, 1]).clamp(min=0) * (x[:, 1] > 1)
        at_reference, in_a_gap = (x[:, 2] == 9).double(), x[:, 3] * (x[:, 4] == 0.25) * 5
        tiny = 1e-15 * x[:, 5]
        return 1 + at_canvas + below + at_reference + in_a_gap + 3 * x[:, 4] + tiny

    x = 5 + numbers(81, 4, 7).abs()
    x[:, 1] = 5.0
    rows = torch.full((5, 7), 9.0, dtype=torch.float64)
    where = value_scene(x, model, reference=Reference(rows, torch.zeros(5, dtype=torch.long)))
    attribution = numbers(82, 4, 7)
    metric = make(canvas="true", contexts=12)
    found = metric(Trial(where, attribution, metric.probe(where)))
    for row in range(4):
        expected = literal.share_on(attribution[row].tolist(), list(range(7)), [5, 6])
        np.testing.assert_allclose(found["value"][row], expected, rtol=1e-12)
    assert found["dummies"].tolist() == [2] * 4
    assert found["defined"].all()
    np.testing.assert_array_equal(metric(Trial(where, attribution))["value"], found["value"])
    alone = make(canvas="true", contexts=1)(Trial(where, attribution))
    assert alone["dummies"].tolist() == [3] * 4  # the gap shows only where its neighbour is gone
    blank = make(canvas="zero", contexts=1)(Trial(where, attribution))
    assert blank["dummies"].tolist() == [4] * 4  # nor is anything at this canvas


def _check_blocks(make: Make) -> None:
    """A column is replaced as a whole: one whose last entry acts is no dummy; attributions of entries are added up."""
    x, attribution = numbers(83, 3, 10), numbers(84, 3, 10)
    where = value_scene(x, lambda x: x[:, 0] + x[:, 4] + x[:, 7] ** 2)  # columns 0, 2 and 4
    found = make()(Trial(where, attribution))
    for row in range(3):
        values = values_of(attribution[row], members(BLOCKS))
        np.testing.assert_allclose(
            found["value"][row], literal.share_on(values, list(range(7)), [1, 3, 5, 6]), rtol=1e-12
        )


def _check_some_are_tried(make: Make) -> None:
    """Of many features some, the same for all samples, and not always the same."""
    weights = torch.zeros(PIXELS.entries, dtype=torch.float64)
    weights[:, ::2] = 2.0 ** torch.arange(36, dtype=torch.float64).view(2, 3, 6)
    where = value_scene(numbers(85, 3, *PIXELS.entries), lambda x: (x * weights).flatten(1).sum(dim=1))
    ones = torch.eye(36, dtype=torch.float64).view(36, 6, 6)
    first_place, other_place = (replace(where, stream=Stream("metric", stream)) for stream in "ab")
    first, other = (_shares(make(features=8), place, ones) for place in (first_place, other_place))
    for shares in (first, other):
        assert (shares.std(axis=0) == 0).all()
    acting = np.array([row // 6 % 2 == 0 for row in range(36)])
    assert not first[:, acting].any()  # all of it on a feature that acts
    tried = {int(place) for place in np.flatnonzero(first[0])}
    assert 1 <= len(tried) < 8
    assert tried != {int(place) for place in np.flatnonzero(other[0])}
    one = ones[min(tried)]
    also = {
        j for j in range(36) if j in tried or _shares(make(features=8), first_place, (one + ones[j])[None])[0, 0] < 1
    }
    assert len(also) == 8
    values = numbers(88, 36)
    expected = literal.share_on(values.tolist(), sorted(also), sorted(tried))
    np.testing.assert_allclose(_shares(make(features=8), first_place, values.view(1, 6, 6)), expected, rtol=1e-12)
    everything = _shares(make(features=36), where, ones)
    assert (everything == ~acting).all()


def _shares(metric: Any, where: Scene, maps: Tensor) -> np.ndarray:
    """What the metric says (B, N) of maps (N, 6, 6), each put to all samples."""
    probe = metric.probe(where)
    return np.stack([metric(Trial(where, each.expand(len(where.samples), 6, 6), probe))["value"] for each in maps], 1)


def _check_nothing_to_tell(make: Make) -> None:
    """Undefined without dummies, where all are, and where the model is endless; a map of zeros has nothing on them."""
    x = numbers(86, 3, 7).abs() + 1
    x[1, 0], x[2, 0] = 0.0, 100.0

    def model(x: Tensor) -> Tensor:
        lively, endless = x[:, 0] > 0.5, x[:, 0] > 50
        return torch.where(endless, torch.nan, torch.where(lively, x.prod(dim=1), 0.0))

    where = value_scene(x, model, reference=None, background=torch.ones(7, dtype=torch.float64))
    found = make(canvas="true", contexts=1)(Trial(where, numbers(87, 3, 7)))
    assert found["defined"].tolist() == [False, True, False]  # 0.0 is lively with another value in column 0 alone
    assert found["dummies"].tolist()[:2] == [0, 6]
    assert found["value"][[0, 2]].tolist() == [0, 0]
    constant = value_scene(x, lambda x: 0 * x[:, 0])
    assert not make()(Trial(constant, numbers(87, 3, 7)))["defined"].any()
    half = value_scene(x, lambda x: x[:, 0])
    silent = make()(Trial(half, torch.zeros(3, 7, dtype=torch.float64)))
    assert (silent["defined"].all(), silent["value"].any()) == (True, False)


def _check_pixels(make: Make) -> None:
    """In images, what other pixels hold is tried, too: pixels that act in one colour of the image alone are found."""
    x = torch.zeros(6, *PIXELS.entries, dtype=torch.float64)
    x[:, :, ::2] = 7.0  # half of the pixels
    where = value_scene(x, lambda x: (x[:, 0] == 7).double()[:, :, :3].flatten(1).sum(dim=1), reference=None)
    found = make(features=36)(Trial(where, torch.ones(6, 6, 6, dtype=torch.float64)))
    np.testing.assert_array_equal(found["dummies"] >= 18, True)
    # A blank pixel escapes where both of its substitutes are blank, once in four; bright ones never do.
    assert 18 + 0.5 < found["dummies"].mean() < 18 + 9 * 0.5


# Symmetry


def unfair(x: Tensor, target: Tensor, setting: Setting) -> Tensor:
    """A method that has its favourites."""
    return x * torch.linspace(1, 3, x[0].numel(), dtype=x.dtype).view(x.shape[1:])


def check_axiom_symmetry(make: Make) -> None:
    _check_interchangeable(make)
    _check_fair_methods(make)
    _check_columns_and_baselines(make)
    _check_pairs(make)


def _model_of_pairs(x: Tensor) -> Tensor:
    """0 and 1 add up, 2 and 3 multiply, 4 is alone, 5 and 6 are alike but where 4 is on the canvas."""
    gap = (x[:, 5] - x[:, 6]) * (x[:, 4] == 0.25) * 3
    return x[:, 0] + x[:, 1] + x[:, 2] * x[:, 3] + 3 * x[:, 4] + 2 * (x[:, 5] + x[:, 6]) + gap


def _check_interchangeable(make: Make) -> None:
    x, method = 2 + numbers(91, 4, 7).abs(), Method(unfair)
    where = value_scene(x, _model_of_pairs)
    for contexts, same in ((12, [(0, 1), (2, 3)]), (1, [(0, 1), (2, 3), (5, 6)])):
        metric = make(pairs=21, contexts=contexts, canvas="true")
        found = metric(Trial(where, unfair(x, where.target, where.setting), metric.probe(where), explain=method))
        for row in range(4):
            expected = literal.unequal_share([_both(x[row], i, j) for i, j in same])
            np.testing.assert_allclose(found["value"][row], expected, rtol=1e-12)
        assert found["pairs"].tolist() == [len(same)] * 4
        assert found["defined"].all()
        moved = method.calls[-1][0].view(len(same), 4, 7)
        for (i, j), points in zip(same, moved, strict=True):
            wanted = x.clone()
            wanted[:, j] = x[:, i]
            assert torch.equal(points, wanted)


def _both(x: Tensor, i: int, j: int) -> tuple[float, float]:
    """What the unfair method gives to two columns, both of which have the first one's value."""
    weights = torch.linspace(1, 3, 7, dtype=x.dtype)
    return float(weights[i] * x[i]), float(weights[j] * x[i])


def _check_fair_methods(make: Make) -> None:
    """Equal attributions score 0, also where rounding parts them; everything on one of two scores 1."""
    x = numbers(92, 3, 7)
    where = value_scene(x, lambda x: x.sum(dim=1))
    noisy = Method(lambda x, t, s: x + 1e-9 * numbers(93, *x.shape))
    found = make(pairs=30)(Trial(where, x, explain=noisy))
    assert (found["value"].any(), found["pairs"].tolist()) == (False, [21] * 3)
    silent = make(pairs=30)(Trial(where, x, explain=Method(lambda x, t, s: 0 * x)))
    assert (silent["value"].any(), silent["defined"].all()) == (False, True)
    one_sided = Method(lambda x, t, s: x * torch.tensor([1.0, 0, 0, 0, 0, 0, 0], dtype=x.dtype))
    found = make(pairs=30)(Trial(where, x, explain=one_sided))
    np.testing.assert_allclose(found["value"], 1.0)  # six pairs with all on one, the others with nothing


def _check_columns_and_baselines(make: Make) -> None:
    """Columns of other widths are no pair, nor are features with other baselines; nothing to say without a pair."""
    x = numbers(94, 3, 10)
    where = value_scene(x, lambda x: x.sum(dim=1))
    found = make(pairs=30)(Trial(where, x, explain=Method(lambda x, t, s: BLOCKS.pool(unfair(x, t, s)))))
    assert found["pairs"].tolist() == [10] * 3  # of the five plain columns
    idle = make(pairs=30)(Trial(value_scene(x, lambda x: x[:, 0]), x, explain=Method(unfair)))
    assert idle["pairs"].tolist() == [6] * 3  # of the four idle columns of one entry
    uneven = asked(value_scene(numbers(95, 3, 7), lambda x: x.sum(dim=1)), readout="value", baseline="mean")
    none = make(pairs=30)(Trial(uneven, uneven.samples.x, explain=Method(unfair)))
    assert (none["defined"].any(), none["value"].any(), none["pairs"].any()) == (False, False, False)
    alone = value_scene(x[:, :7], lambda x: (x * 2.0 ** torch.arange(7)).sum(dim=1))
    nothing = make()(Trial(alone, x[:, :7], explain=Method(unfair)))
    assert (nothing["defined"].any(), nothing["value"].any()) == (False, False)
    picky = x[:, :7].clone()
    picky[:, 6] = 2.5  # which column 5 alone takes notice of
    other = value_scene(
        picky, lambda x: (x[:, :5] * 2.0 ** torch.arange(1, 6)).sum(1) + x[:, 5] + x[:, 6] + (x[:, 5] == 2.5)
    )
    assert not make(pairs=30)(Trial(other, picky, explain=Method(unfair)))["pairs"].any()
    refuses(NotApplicable, "given as numbers", lambda: make(pairs=30)(Trial(where, x)))


def _check_pairs(make: Make) -> None:
    """In an image random pairs, each sample's own, the same in another block; pixels move as a whole."""
    where = value_scene(numbers(96, 5, *PIXELS.entries), lambda x: x.flatten(1).sum(dim=1))
    method = Method(unfair)
    trial = Trial(where, where.samples.x, explain=method)
    metric = make(pairs=40)
    metric(trial)
    metric(replace(take(trial, slice(2, 5)), explain=method))
    x = where.samples.x
    first, later = (moved.view(40, -1, *PIXELS.entries) for moved, _, _ in method.calls)
    assert torch.equal(first[:, 2:], later)
    changed = (first != x).any(dim=2).flatten(2)  # (pairs, B, pixels)
    assert (changed.sum(dim=2) == 1).all()
    assert len({tuple(row) for row in changed.long().argmax(dim=2).T.tolist()}) == 5
    steps = set()
    for pair in range(40):
        for row in range(5):
            ((top, left),) = (first[pair, row] != x[row]).any(dim=0).nonzero().tolist()
            source = (x[row] == first[pair, row, :, top, left, None, None]).all(dim=0)
            assert source.sum() == 1
            steps.add((int(source.flatten().long().argmax()) - 6 * top - left) % 36)
    assert len(steps) > 30  # of 35


# Linearity


@seeded()
def check_axiom_linearity(make: Make) -> None:
    where = replace(table_scene(4, features=PLAIN), question=LOGIT)
    where = replace(where, setting=replace(where.setting, question=LOGIT))
    net = where.setting.model
    _check_sums(make, where, net, folded=True)
    _check_sums(make, where, nn.Sequential(net, nn.Tanh()).double(), folded=False)  # the last linear layer is no output
    _check_sums(make, where, Lambda(lambda x: torch.stack([x.prod(1), x[:, 0] ** 3, x[:, 1]], dim=1)), folded=False)
    plain = nn.Sequential(nn.Linear(7, 3, bias=False)).double()
    _check_sums(make, where, plain, folded=True)
    _check_probabilities(make)
    _check_what_is_no_sum(make)
    _check_silence(make, where)


@seeded()
def _check_sums(make: Make, where: Scene, model: nn.Module, folded: bool) -> None:
    where = replace(where, setting=replace(where.setting, model=model, forward=model.forward))
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    x, target = where.samples.x, where.target
    for weights in ((1.0, -1.0), (2.0, 0.7)):
        for rule in (products, squares):
            method = Method(rule)
            first, second = (rule(x, cls, where.setting) for cls in (target, (target + 1) % 3))
            found = make(weights=weights)(Trial(where, first, explain=method))
            whole = _of_the_sum(rule, where, weights)
            for row in range(4):
                right = (weights[0] * first[row] + weights[1] * second[row]).tolist()
                expected = literal.relative_gap(whole[row].tolist(), right)
                np.testing.assert_allclose(found["value"][row], expected, rtol=1e-7, atol=1e-9)
            assert (found["value"] < 1e-9).all() == (rule is products)
            assert found["defined"].all()
            (_, _, there) = method.calls[-1]
            names = [name for name, _ in there.model.named_modules()]
            assert (names == [name for name, _ in model.named_modules()]) == folded
            assert there.forward is None
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


def _of_the_sum(rule: Callable[..., Tensor], where: Scene, weights: tuple[float, float]) -> Tensor:
    """The map of u f + v g, written down as a function."""
    model = where.setting.model

    def summed(x: Tensor) -> Tensor:
        z = model(x)
        return torch.stack([weights[0] * z[:, c] + weights[1] * z[:, (c + 1) % 3] for c in range(3)], dim=1)

    return rule(where.samples.x, where.target, replace(where.setting, model=Lambda(summed)))


@seeded()
def _check_probabilities(make: Make) -> None:
    """Probabilities are summed behind the softmax; hints to layers follow them."""
    where = asked(table_scene(4, features=PLAIN))
    where = replace(where, setting=replace(where.setting, hints={"grad_cam": "2", "iba": "nowhere"}))
    method, x = Method(products), where.samples.x
    found = make(weights=(1.0, 0.5))(Trial(where, products(x, where.target, where.setting), explain=method))
    assert ((found["value"] < 1e-9).all(), found["defined"].all()) == (True, True)
    there = method.calls[-1][2]
    soft = where.setting.model(x).softmax(dim=1)
    np.testing.assert_allclose(there.model(x).detach(), (soft + 0.5 * soft.roll(-1, 1)).detach(), rtol=1e-10)
    assert there.outputs == "probabilities"
    assert isinstance(dict(there.model.named_modules()).get(there.hints["grad_cam"]), nn.Linear)
    assert there.hints["iba"] == "nowhere"
    sure = replace(
        where, setting=replace(where.setting, model=nn.Sequential(perceptron(7), nn.Softmax(dim=1)).double())
    )
    sure = replace(sure, setting=replace(sure.setting, outputs="probabilities"))
    again = make()(Trial(sure, products(x, where.target, sure.setting), explain=Method(products)))
    assert (again["value"] < 1e-9).all()


@seeded()
def _check_what_is_no_sum(make: Make) -> None:
    x, method = numbers(97, 3, 7), Method(products)
    for question in ({"temperature": 2.0}, {"readout": "margin"}):
        where = asked(table_scene(3, features=PLAIN), **question)
        refuses(NotApplicable, "a plain output", lambda where=where: make()(Trial(where, x, explain=method)))  # type: ignore[misc]
    single = value_scene(x, lambda x: x.sum(dim=1))
    refuses(NotApplicable, "two outputs", lambda: make()(Trial(single, x, explain=method)))
    refuses(NotApplicable, "given as numbers", lambda: make()(Trial(table_scene(3, features=PLAIN), x)))


def _check_silence(make: Make, where: Scene) -> None:
    """A map that never changes is 1 off a difference of classes; maps of zeros, or of rounding, say nothing."""
    x = where.samples.x
    stubborn = make()(Trial(where, x, explain=Method(lambda x, t, s: x)))
    np.testing.assert_allclose(stubborn["value"], 1.0)

    def rounding(x: Tensor, target: Tensor, setting: Setting) -> Tensor:
        return x if setting is where.setting else 1e-9 * x

    for rule in (rounding, lambda x, t, s: 0 * x):
        found = make()(Trial(where, rule(x, where.target, where.setting), explain=Method(rule)))
        assert (found["defined"].any(), found["value"].any()) == (False, False)
    turned = make()(Trial(where, x, explain=Method(lambda x, t, s: -x if s is not where.setting else 0.01 * x)))
    assert (turned["value"] > 1.9).all()


# Completeness


def check_axiom_completeness(make: Make) -> None:
    images, tables = image_scene(4), table_scene(4)
    for where, attribution in (
        (images, numbers(98, 4, 6, 6)),
        (images, numbers(99, 4, 2, 6, 6)),
        (tables, numbers(100, 4, 10)),
    ):
        for baseline, height in (("zero", 0.0), ("true", 0.25)):
            there = replace(where, question=replace(where.question, baseline=baseline))
            found = make()(Trial(there, attribution))
            for row in range(4):
                x, ask = where.samples.x[row].numpy(), answer(where, row)
                change = ask(x) - ask(np.full_like(x, height))
                expected = literal.relative_gap([float(attribution[row].sum())], [change])
                np.testing.assert_allclose(found["value"][row], expected, rtol=1e-9)
            assert found["defined"].all()
    logits = replace(tables, question=replace(tables.question, readout="logit"))
    change = answer(tables, 0, None)
    wanted = change(tables.samples.x[0].numpy()) - change(np.zeros(10))
    exact = make()(Trial(logits, torch.full((4, 10), wanted / 10, dtype=torch.float64)))
    assert abs(exact["value"][0]) < 1e-12
    _check_opposites(make)


def _check_opposites(make: Make) -> None:
    """0 where the sum is right, 1 for nothing, 2 for the opposite; undefined where neither is more than rounding."""
    x = numbers(101, 6, 7)
    x[3] -= x[3].mean()
    x[4], x[5, 0] = 0.0, 100.0
    where = value_scene(x, lambda x: torch.where(x[:, 0] > 50, torch.nan, 4 + x.sum(dim=1)))
    attribution = x.clone()
    attribution[1], attribution[2], attribution[5] = 0.0, -x[2], 1.0
    found = make()(Trial(where, attribution))
    np.testing.assert_allclose(found["value"], [0, 1, 2, 0, 0, 0], atol=1e-12)
    assert found["defined"].tolist() == [True, True, True, False, False, False]
    moved = attribution.clone()
    moved[3:5] += 1
    again = make()(Trial(where, moved))
    np.testing.assert_allclose(again["value"][3:5], [1, 1], rtol=1e-12)
