"""Checks of the metrics that disturb the input, the class or the model. Each takes what makes the metric."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from assay.core.errors import NotApplicable, SpecError
from assay.core.machine import Machine
from assay.core.rng import Stream
from assay.core.trial import Scene, Trial
from oracles.metrics import literal_again as literal
from oracles.metrics.again import LOGIT, Choosing, Method, asked, noting, products, squares
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
    scene,
    table_scene,
    take,
)
from streams import seeded

Make = Callable[..., Any]
CANVAS = {"zero": 0.0, "true": 0.25, 0.7: 0.7}  # what the scenes hold


def values_of(attribution: Tensor, features: list[np.ndarray]) -> list[float]:
    """One number per feature."""
    values = attribution.numpy()
    if values.size == len(features):
        return values.ravel().tolist()
    return [float(values[mask].sum()) for mask in features]


# Infidelity


def check_infidelity(make: Make) -> None:
    entries, pixels = numbers(61, 3, *PIXELS.entries), numbers(62, 3, 6, 6)
    columns = numbers(63, 4, *BLOCKS.entries)
    for normalise, trend in product(("positive", "any", "none"), ("size", "constant", "none")):
        form = {"normalise": normalise, "trend": trend}
        _check_forecast(make, table_scene(4), columns, reads="slope", share=0.4, readout="logit", **form)
        _check_forecast(make, table_scene(4), columns, perturbation="noise", deviation=0.7, **form)
    _check_forecast(make, image_scene(3), entries, canvas="true", temperature=2.0)
    _check_forecast(make, image_scene(3), entries, perturbation="removal", canvas="true")
    _check_forecast(make, table_scene(4), columns, share=0.4)
    _check_forecast(make, image_scene(3), pixels, perturbation="square", canvas=0.7)
    _check_forecast(make, image_scene(3), entries, perturbation="noisy_baseline", canvas="true")
    _check_forecast(make, image_scene(3), entries, perturbation="square", reads="slope", canvas=0.7, normalise="any")
    _check_sets(make)
    _check_squares(make)
    _check_regions(make)
    _check_noise(make)
    _check_shifts(make)
    _check_signs_and_silence(make)
    refuses(
        NotApplicable, "a number for every entry", lambda: make(perturbation="noise")(Trial(image_scene(3), pixels))
    )
    refuses(NotApplicable, "squares of images", lambda: make(perturbation="square")(Trial(table_scene(4), columns)))
    refuses(SpecError, "needs slopes", lambda: make(perturbation="noise", reads="share"))
    for few, trend in ((3, "size"), (2, "constant"), (0, "none")):
        refuses(SpecError, f"at least {few + 1} with", lambda few=few, trend=trend: make(samples=few, trend=trend))


def perturbed(metric: Any, where: Scene) -> np.ndarray:
    """The inputs (samples, B, *entries) that the metric puts to the model."""
    watched, model = noting(where)
    metric.probe(watched)
    rows = torch.cat(model.seen).numpy()
    clean = where.samples.x.numpy()
    other = (rows[:, None] != clean).reshape(len(rows), len(clean), -1).any(axis=2).all(axis=1)
    return rows[other].reshape(-1, *clean.shape)


def _check_forecast(make: Make, where: Scene, attribution: Tensor, **params: Any) -> None:
    metric = make(samples=7, **params)
    moved, features = perturbed(metric, where), members(where.setting.features)
    assert len(moved) == 7
    found = metric(Trial(where, attribution, metric.probe(where)))
    slope = params.get("reads") == "slope" or "nois" in params.get("perturbation", "")
    temperature = None if params.get("readout") == "logit" else params.get("temperature", 1.0)
    canvas = CANVAS[params.get("canvas", "zero")]
    for row in range(len(attribution)):
        x, ask, given = where.samples.x[row].numpy(), answer(where, row, temperature), attribution[row]
        change = [ask(x) - ask(other[row]) for other in moved]
        gone = [(other[row] != x) & (other[row] == canvas) for other in moved]
        if slope:
            told = [float(((x - other[row]) * given.numpy()).sum()) for other in moved]
        else:
            told = [literal.added_up(mask, features, values_of(given, features)) for mask in gone]
        size = [sum(float(mask[own].all()) for own in features) for mask in gone]
        beside = {"none": [], "constant": [[1.0] * 7], "size": [[1.0] * 7, size]}[params.get("trend", "size")]
        expected = literal.forecast_error(told, change, params.get("normalise", "positive"), beside)
        np.testing.assert_allclose(found["value"][row], expected, rtol=1e-9, atol=1e-15)
    assert found["defined"].all()
    np.testing.assert_array_equal(metric(Trial(where, attribution))["value"], found["value"])


def plain_images() -> Scene:
    """A model that adds up, many rows a call."""
    model = Lambda(lambda x: x.flatten(1).sum(dim=1, keepdim=True))
    return replace(scene(numbers(65, 2, *PIXELS.entries), model, PIXELS, VALUE), machine=Machine())


def _check_sets(make: Make) -> None:
    """A share of the features, at least one, the same for all samples."""
    where = plain_images()
    gone = perturbed(make(samples=200, share=0.3, perturbation="removal"), where) == 0
    assert (gone[:, 0] == gone[:, 1]).all()
    assert (gone[:, 0, 0] == gone[:, 0, 1]).all()  # both channels
    each = gone[:, 0, 0].reshape(200, 36)
    assert abs(each.mean() - 0.3) < 5 * (0.21 / 7200) ** 0.5
    assert abs(each.mean(axis=0) - 0.3).max() < 5 * (0.21 / 200) ** 0.5
    alone = perturbed(make(samples=200, share=0.0, perturbation="removal"), where)
    assert len(alone) == 200
    rare = alone[:, 0, 0].reshape(200, 36) == 0
    assert (rare.sum(axis=1) == 1).all()
    assert rare.any(axis=0).sum() > 30


def _check_squares(make: Make) -> None:
    """Squares inside of the image, of all sides up to the largest, everywhere."""
    gone = perturbed(make(samples=400, perturbation="square", side=0.5), plain_images()) == 0
    assert (gone[:, 0] == gone[:, 1]).all()
    sides = []
    for mask in gone[:, 0, 0]:
        down, across = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
        assert mask.sum() == len(down) * len(across) == len(down) ** 2
        assert np.ptp(down) == np.ptp(across) == len(down) - 1
        sides.append(len(down))
    assert [abs(sides.count(side) - 400 / 3) < 5 * 9.5 for side in (1, 2, 3)] == [True] * 3
    assert len(sides) == sum(sides.count(side) for side in (1, 2, 3))
    small = gone[:, 0, 0][np.array(sides) == 1].reshape(-1, 36).any(axis=0)
    assert small.sum() > 30  # of 36 places; 133 squares miss 0.8 of them on average


def _check_regions(make: Make) -> None:
    """Squares in images, sets elsewhere: the same as if these were asked for."""
    for where, kind in ((plain_images(), "square"), (replace(table_scene(2), machine=Machine()), "removal")):
        np.testing.assert_array_equal(
            perturbed(make(samples=9), where), perturbed(make(samples=9, perturbation=kind), where)
        )


def _check_shifts(make: Make) -> None:
    """A constant map says nothing beside sizes, whatever rounding leaves of it; beside a constant it does."""
    where = image_scene(3)
    some, flat = numbers(66, 3, 6, 6), torch.full((3, 6, 6), 1 / 3, dtype=torch.float64)
    for kind in ("square", "removal"):
        for trend, silent in (("size", True), ("constant", False), ("none", False)):
            metric = make(perturbation=kind, trend=trend, samples=30)
            plain, shifted, none, equal = (
                metric(Trial(where, given))["value"] for given in (some, some + 5, 0 * some, flat)
            )
            assert np.allclose(plain, shifted, rtol=1e-9) is silent
            assert np.array_equal(none, equal) is silent


def _check_noise(make: Make) -> None:
    where = replace(table_scene(2, features=PLAIN), machine=Machine())
    x = where.samples.x.numpy()
    for perturbation, centre in (("noise", x), ("noisy_baseline", np.full_like(x, 0.25))):
        moved = perturbed(make(samples=400, perturbation=perturbation, deviation=0.5, canvas="true"), where)
        noise = moved - centre
        np.testing.assert_allclose(noise[:, 0], noise[:, 1], atol=1e-12)
        assert abs(noise[:, 0].mean()) < 5 * 0.5 / 2800**0.5
        assert abs(noise[:, 0].std() - 0.5) < 5 * 0.5 / 5600**0.5
        assert len(np.unique(noise[:, 0])) == 2800


def _check_signs_and_silence(make: Make) -> None:
    """Reversed signs are no better than nothing; a map of zeros errs by all that happens; endless answers count not."""
    model = Lambda(lambda x: torch.where(x[:, :1] > 50, torch.nan, x.sum(dim=1, keepdim=True)))
    x = numbers(64, 3, 7)
    x[2, 0] = 60.0
    where = scene(x, model, PLAIN, VALUE)
    plain, turned, none = (make()(Trial(where, attribution)) for attribution in (x, -x, 0 * x))
    np.testing.assert_allclose(plain["value"][:2], [0, 0], atol=1e-12)
    np.testing.assert_allclose(turned["value"], none["value"], rtol=1e-12)
    assert (none["value"][:2] > 0.01).all()
    np.testing.assert_allclose(make(normalise="any")(Trial(where, -x))["value"][:2], [0, 0], atol=1e-12)
    for found in (plain, turned, none):
        assert found["defined"].tolist() == [True, True, False]
        assert found["value"][2] == 0


# Max-sensitivity


def check_max_sensitivity(make: Make) -> None:
    for where, fits in ((image_scene(4), None), (table_scene(4), None), (image_scene(4), PIXELS.pool)):
        method = Method(products if fits is None else lambda x, t, s: PIXELS.pool(products(x, t, s)))
        x = where.samples.x
        plain = method.rule(x, where.target, where.setting)
        found = make(radius=0.3, samples=5)(Trial(where, plain, explain=method))
        ((moved, target, _),) = method.calls  # all copies in one call
        assert torch.equal(target, where.target.repeat(5))
        assert ((moved.view(5, *x.shape) - x).abs() <= 0.3).all()
        for row in range(4):
            others = [_one(method, copy[row], where, row) for copy in moved.view(5, *x.shape)]
            expected = literal.largest_move(plain[row].numpy(), others)
            np.testing.assert_allclose(found["value"][row], expected, rtol=1e-10)
        assert found["defined"].all()
    _check_ball(make)
    where = table_scene(2)
    silent = make()(Trial(where, torch.zeros(2, 10, dtype=torch.float64), explain=Method(products)))
    assert (silent["defined"].any(), silent["value"].any()) == (False, False)
    refuses(NotApplicable, "given as numbers", lambda: make()(Trial(where, where.samples.x)))


def _one(method: Method, x: Tensor, where: Scene, row: int) -> np.ndarray:
    return method.rule(x[None], where.target[row : row + 1], where.setting)[0].numpy()


def _check_ball(make: Make) -> None:
    """Uniform in the ball, each sample's own, the same in another block."""
    where, method = table_scene(6, features=PLAIN), Method(lambda x, t, s: x + 1)
    trial = Trial(where, where.samples.x + 1, explain=method)
    metric = make(radius=2.0, samples=300)
    metric(trial)
    metric(replace(take(trial, slice(3, 6)), explain=method))
    first, later = (moved.view(300, -1, 7) for moved, _, _ in method.calls)
    steps = (first - where.samples.x).numpy()
    assert abs(steps.mean()) < 5 * 2 / 3**0.5 / 12600**0.5
    assert abs((steps**2).mean() - 4 / 3) < 5 * 4 / 11.25**0.5 / 12600**0.5
    assert abs(np.corrcoef(steps[:, 0].ravel(), steps[:, 1].ravel())[0, 1]) < 5 / 2100**0.5
    assert torch.equal(first[:, 3:], later)


# Class sensitivity


def check_class_sensitivity(make: Make) -> None:
    for where in (image_scene(5), table_scene(5)):
        method, features = Method(products), members(where.setting.features)
        plain = products(where.samples.x, where.target, where.setting)
        with torch.no_grad():
            outputs = where.setting.model(where.samples.x).tolist()
        for other in ("least", "most"):
            classes = [_other_class(outputs[row], int(where.target[row]), other) for row in range(5)]
            maps = products(where.samples.x, torch.tensor(classes), where.setting)
            for by in ("spearman", "cosine"):
                for absolute in (True, False):
                    metric = make(other=other, by=by, absolute=absolute)
                    found = metric(Trial(where, plain, metric.probe(where), explain=method))
                    for row in range(5):
                        left, right = (values_of(side[row], features) for side in (plain, maps))
                        expected = literal.likeness(left, right, by, absolute)
                        np.testing.assert_allclose(found["value"][row], expected, rtol=1e-8, atol=1e-10)
                    assert found["defined"].all()
    assert {c == int(t) for c, t in zip(np.argmin(outputs, axis=1), where.target, strict=True)} == {True, False}
    _check_silent_classes(make)
    single = scene(numbers(71, 2, 7), Lambda(lambda x: x[:, :1]), PLAIN, VALUE)
    refuses(NotApplicable, "two classes", lambda: make()(Trial(single, single.samples.x, explain=method)))
    refuses(NotApplicable, "given as numbers", lambda: make()(Trial(where, plain)))


def _other_class(outputs: list[float], target: int, which: str) -> int:
    rest = {output: index for index, output in enumerate(outputs) if index != target}
    return rest[min(rest) if which == "least" else max(rest)]


def _check_silent_classes(make: Make) -> None:
    """Constant maps have no order, maps of zeros no direction; numbers that differ by rounding alone are equal."""
    where = table_scene(2, features=PLAIN)
    one = torch.ones(2, 7, dtype=torch.float64)
    constant = Method(lambda x, t, s: 3 * one)
    silent = Method(lambda x, t, s: 0 * one)
    for by, method, defined in (("spearman", constant, False), ("cosine", constant, True), ("cosine", silent, False)):
        found = make(by=by)(Trial(where, where.samples.x, explain=method))
        assert found["defined"].tolist() == [defined] * 2
        assert bool(found["value"].any()) == defined
    almost = one + 1e-15 * numbers(72, 2, 7)
    assert not make()(Trial(where, almost, explain=Method(lambda x, t, s: x)))["defined"].any()


# Choice sensitivity


def check_choice_sensitivity(make: Make) -> None:
    for where in (image_scene(5), table_scene(5)):
        features, known = members(where.setting.features), (where.samples.x, where.target, where.setting)
        plain, maps = products(*known), squares(*known)
        for choice in ({}, {"parameter": "segments", "value": 3}):
            for by, absolute in product(("spearman", "cosine"), (True, False)):
                method = Choosing(products, other=squares)
                found = make(**choice, by=by, absolute=absolute)(Trial(where, plain, explain=method))
                assert method.chosen == [tuple(choice.values()) or ("question.baseline", "uniform")]
                for row in range(5):
                    left, right = (values_of(side[row], features) for side in (plain, maps))
                    expected = literal.likeness(left, right, by, absolute)
                    np.testing.assert_allclose(found["value"][row], expected, rtol=1e-8, atol=1e-10)
                assert found["defined"].all()
        signed, default = (make(**given)(Trial(where, plain, explain=method)) for given in ({"absolute": False}, {}))
        np.testing.assert_array_equal(signed["value"], default["value"])
    where, one = table_scene(2, features=PLAIN), torch.ones(2, 7, dtype=torch.float64)
    for by, value, defined in (("spearman", 3.0, False), ("cosine", 3.0, True), ("cosine", 0.0, False)):
        constant = Choosing(products, other=lambda x, t, s, value=value: value * one)
        found = make(by=by)(Trial(where, where.samples.x, explain=constant))
        assert found["defined"].tolist() == [defined] * 2
        assert bool(found["value"].any()) == defined
    almost = Choosing(products, other=lambda x, t, s: x)
    assert not make()(Trial(where, one + 1e-15 * numbers(72, 2, 7), explain=almost))["defined"].any()
    refuses(NotApplicable, "given as numbers", lambda: make()(Trial(where, where.samples.x)))
    refuses(SpecError, "class_sensitivity", lambda: make(parameter="question.target", value="predicted"))


# Parameter randomisation


def check_parameter_randomisation(make: Make) -> None:
    for params in ({}, {"order": "independent"}, {"by": "cosine", "at": "last"}, {"absolute": False, "depths": 2}):
        _check_depths(make, asked(image_scene(3), readout="logit"), deep(), params)
    _check_new_weights(make)
    _check_dead_depths(make)
    bare = scene(numbers(73, 2, 7), Lambda(lambda x: x), PLAIN)
    refuses(NotApplicable, "with parameters", lambda: make()(Trial(bare, bare.samples.x, explain=Method(products))))
    refuses(NotApplicable, "given as numbers", lambda: make()(Trial(image_scene(2), numbers(74, 2, 6, 6))))


@seeded()
def deep() -> nn.Module:
    """Five layers with parameters, one of them a normalisation that has seen data."""
    model = nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.Softplus(),
        nn.Conv2d(4, 3, 3, groups=1, bias=False),
        nn.Flatten(),
        nn.Linear(48, 5),
        nn.Softplus(),
        nn.Linear(5, 3),
    ).double()
    for index, tensor in enumerate([*model.parameters(), *model.buffers()]):
        if tensor.is_floating_point():
            tensor.data = numbers(500 + index, *tensor.shape).abs() + 0.5
    return model.eval().requires_grad_(False)


NAMES = ["7", "5", "3", "1", "0"]  # from the output


def _check_depths(make: Make, where: Scene, model: nn.Module, params: dict[str, Any]) -> None:
    setting = replace(where.setting, model=model, forward=lambda x: x.flatten(1)[:, :3])
    where, method = replace(where, setting=setting), Method(products)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    plain = products(where.samples.x, where.target, setting)
    metric = make(**params)
    found = metric(Trial(where, plain, explain=method))
    depths = [1, 2, 3, 4, 5] if params.get("depths", 8) >= 5 else [2, 5]
    assert found.axis["curve"].tolist() == depths
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    for call, depth in enumerate(depths):
        x, target, there = method.calls[call]
        renewed = NAMES[depth - 1 : depth] if params.get("order") == "independent" else NAMES[:depth]
        assert _changed(model, there.model) == set(renewed)
        assert there.forward is None
        assert torch.equal(x, where.samples.x)
        assert torch.equal(target, where.target)
        again, features = products(x, target, there), members(PIXELS)
        for row in range(3):
            left, right = (values_of(side[row], features) for side in (plain, again))
            expected = literal.likeness(left, right, params.get("by", "spearman"), params.get("absolute", True))
            np.testing.assert_allclose(found["curve"][row, call], expected, rtol=1e-8, atol=1e-10)
    assert len(method.calls) == len(depths)
    value = found["curve"][:, -1] if params.get("at") == "last" else found["curve"].mean(axis=1)
    np.testing.assert_allclose(found["value"], value, rtol=1e-12)
    assert found["defined"].all()
    _same_numbers(model, method)


def _changed(left: nn.Module, right: nn.Module) -> set[str]:
    pairs = zip(left.state_dict().items(), right.state_dict().values(), strict=True)
    return {name.partition(".")[0] for (name, one), other in pairs if not torch.equal(one, other)}


def _same_numbers(model: nn.Module, method: Method) -> None:
    """A layer has the same new numbers at every depth at which it is new."""
    first, *others = [setting.model for _, _, setting in method.calls]
    for other in others:
        for name in _changed(model, first) & _changed(model, other):
            old, new = (one.state_dict() for one in (first, other))
            assert all(torch.equal(old[key], new[key]) for key in old if key.startswith(f"{name}."))


@seeded()
def _check_new_weights(make: Make) -> None:
    """Uniform within 1 / sqrt(inputs), normalisations 1 and 0; the same every time, others for another seed."""
    method = Method(products)
    wide = nn.Sequential(nn.Conv2d(2, 64, 3), nn.BatchNorm2d(64), nn.Flatten(), nn.Linear(1024, 300)).double().eval()
    for tensor in (wide[1].weight, wide[1].bias, wide[1].running_mean, wide[1].running_var):
        tensor.data.fill_(3.0)
    where = scene(numbers(75, 1, *PIXELS.entries), wide, PIXELS, LOGIT)
    for stream in (where.stream, where.stream, Stream("metric", "scene", seed=2)):
        there = replace(where, stream=stream)
        make(depths=1)(Trial(there, numbers(76, 1, 6, 6), explain=method))
    new, same, other = (setting.model for _, _, setting in method.calls)
    for layer, bound in ((new[0], 1 / 18**0.5), (new[3], 1 / 32)):
        for drawn in (layer.weight, layer.bias):
            assert 0.9 * bound < drawn.abs().max() <= bound
            assert abs(drawn.mean()) < 5 * bound / 3**0.5 / drawn.numel() ** 0.5
    norm = new[1]
    assert [set(side.tolist()) for side in (norm.weight, norm.bias, norm.running_mean, norm.running_var)] == [
        {1.0},
        {0.0},
        {0.0},
        {1.0},
    ]
    assert torch.equal(new[0].weight, same[0].weight)
    assert not torch.equal(new[0].weight, other[0].weight)
    assert not torch.equal(new[0].weight.flatten()[:64], new[0].bias)
    assert not torch.allclose(18**0.5 * new[0].weight.flatten()[:64], 32 * new[3].weight.flatten()[:64])


def _check_dead_depths(make: Make) -> None:
    """A depth at which the map is constant does not count; a sample of which this is all has no value."""
    model = deep()
    where = asked(image_scene(3), readout="logit")
    where = replace(where, setting=replace(where.setting, model=model))

    def partly_dead(x: Tensor, target: Tensor, setting: Any) -> Tensor:
        found = products(x, target, setting)
        found[0] = 0.0
        if "0" in _changed(model, setting.model):
            found[1] = 1.0
        return PIXELS.pool(found)

    plain = products(where.samples.x, where.target, where.setting)
    mean, last = (make(at=at)(Trial(where, plain, explain=Method(partly_dead))) for at in ("mean", "last"))
    assert mean["defined"].tolist() == [False, True, True]
    assert last["defined"].tolist() == [False, False, True]
    assert mean["curve_defined"].tolist() == [[False] * 5, [True] * 4 + [False], [True] * 5]
    np.testing.assert_allclose(mean["value"][1], mean["curve"][1, :4].mean(), rtol=1e-12)
    assert not any(side.any() for side in (mean["curve"][0], last["curve"][:2], last["value"][:2]))
    score = make().reduce(mean)
    np.testing.assert_allclose(score.curve, [*mean["curve"][1:, :4].mean(axis=0), mean["curve"][2, 4]], rtol=1e-12)
    np.testing.assert_allclose(score.value, mean["value"][1:].mean(), rtol=1e-12)
    assert (score.count, score.defined) == (3, 2)
