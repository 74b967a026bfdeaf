"""Checks of the metrics between models. Each takes what makes the metric, so that mutants can be checked too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from assay.core.errors import NotApplicable, SpecError
from assay.core.evidence import Evidence, merge
from assay.core.setting import Setting
from assay.core.trial import Scene, Trial
from oracles.metrics import literal_between as literal
from oracles.metrics.refusals import refuses
from oracles.metrics.scenes import PIXELS, VALUE, Lambda, image_scene, network, numbers, scene, take
from streams import seeded

Make = Callable[..., Any]


def pair(count: int = 6, sibling: nn.Module | None = None, hints: Mapping[str, str] | None = None) -> Scene:
    """Images before a network and a sibling that sees them in its own way."""
    where = image_scene(count)
    other = network(seed=5) if sibling is None else sibling
    return replace(where, setting=replace(where.setting, sibling=other, hints=hints or {"grad_cam": "1"}))


def logits(model: nn.Module, x: Tensor) -> list[list[float]]:
    """One row at a time."""
    with torch.no_grad():
        return [model(row[None])[0].tolist() for row in x]


def check_output_difference(make: Make) -> None:
    where = pair()
    left, right = (logits(model, where.samples.x) for model in (where.setting.model, where.setting.sibling))
    cases: list[tuple[dict[str, Any], float]] = [
        ({}, 1.0),
        ({"of": "all", "temperature": 3.0}, 3.0),
        ({"of": "logits"}, 0),
    ]
    for params, temperature in cases:
        metric = make(**params)
        found = metric(Trial(where, numbers(91, 6, 6, 6), metric.probe(where)))
        for row in range(6):
            ask = [literal.softmax(rows[row], temperature) if temperature else rows[row] for rows in (left, right)]
            if not params:
                ask = [[rows[int(where.target[row])]] for rows in ask]
            np.testing.assert_allclose(found["value"][row], literal.mean_difference(*ask), rtol=1e-10)
        assert found["defined"].all()
        np.testing.assert_array_equal(metric(Trial(where, numbers(92, 6, 6, 6)))["value"], found["value"])
    _check_endless_outputs(make)
    _check_needs_a_sibling(make)
    value = scene(numbers(93, 2, 2, 6, 6), Lambda(lambda x: x.flatten(1).sum(1, keepdim=True)), PIXELS, VALUE)
    value = replace(value, setting=replace(value.setting, sibling=value.setting.model))
    refuses(NotApplicable, "needs a classifier", lambda: make().probe(value))


def _check_endless_outputs(make: Make) -> None:
    endless = Lambda(lambda x: torch.stack([x[:, 0, 0, 0] / 0, x[:, 0, 0, 1], x[:, 0, 0, 2]], dim=1))
    found = make(of="logits")(Trial(pair(3, endless), numbers(94, 3, 6, 6)))
    assert not found["defined"].any()
    assert not found["value"].any()


def _check_needs_a_sibling(make: Make) -> None:
    lonely = Trial(image_scene(3), numbers(95, 3, 6, 6), explain=explain)
    refuses(NotApplicable, "needs a second model", lambda: make()(lonely))


def explain(x: Tensor, target: Tensor, setting: Setting) -> Tensor:
    """A method: the input, weighted by its place, times the explained output squared."""
    with torch.no_grad():
        output = setting.model(x).gather(1, target[:, None])
    return x * torch.linspace(-1, 1, 36, dtype=x.dtype).view(6, 6) + output.square().view(-1, 1, 1, 1) * x.roll(1, 3)


def check_attribution_difference(make: Make) -> None:
    where = pair()
    x, own, other = where.samples.x, where.setting.model, where.setting.sibling
    assert other is not None
    best = [torch.tensor(logits(model, x)).argmax(dim=1) for model in (own, other)]
    assert not torch.equal(*best)
    assert not torch.equal(best[0], where.target)
    given = explain(x, where.target, where.setting)
    beside = replace(where.setting, model=other)
    cases: list[tuple[dict[str, Any], Tensor, Tensor]] = [
        ({}, explain(x, best[0], where.setting), explain(x, best[1], beside)),
        ({"stretch": False}, explain(x, best[0], where.setting), explain(x, best[1], beside)),
        ({"target": "asked"}, given, explain(x, where.target, beside)),
    ]
    for params, left, right in cases:
        found = make(**params)(Trial(where, given, explain=explain))
        for row in range(6):
            maps: list[Any] = [literal.per_pixel(maps[row].numpy()) for maps in (left, right)]
            if params.get("stretch", True):
                maps = [literal.stretched(values) for values in maps]
            np.testing.assert_allclose(found["value"][row], literal.mean_difference(*maps), rtol=1e-10)
        assert found["defined"].all()
    _check_the_given_map_counts(make)
    _check_constant_maps(make)
    _check_the_sibling_s_own_hints(make)
    _check_needs_a_sibling(make)
    refuses(NotApplicable, "given as numbers", lambda: make()(Trial(where, given)))


def _check_the_given_map_counts(make: Make) -> None:
    """Asked about the study's class, the model's map is the one that is judged; a factor and a constant do nothing."""
    where, attribution = pair(), numbers(96, 6, 6, 6)
    metric = make(target="asked")
    plain = metric(Trial(where, attribution, explain=explain))["value"]
    assert not np.allclose(plain, metric(Trial(where, attribution.flip(0), explain=explain))["value"])
    for moved in (attribution + 5, 1e-20 * attribution, 1e20 * attribution):
        np.testing.assert_allclose(metric(Trial(where, moved, explain=explain))["value"], plain, rtol=1e-9)
    own = torch.tensor(logits(where.setting.model, where.samples.x)).argmax(dim=1) == where.target
    assert bool(own.any())
    assert not bool(own.all())
    mixed = (make()(Trial(where, some, explain=explain))["value"] for some in (attribution, attribution.flip(1)))
    np.testing.assert_array_equal(np.not_equal(*mixed), own)  # where the prediction was asked about, the map is given
    same = pair(sibling=where.setting.model)
    zero = make()(Trial(same, explain(same.samples.x, same.target, same.setting), explain=explain))
    np.testing.assert_array_equal(zero["value"], np.zeros(6))


def _check_constant_maps(make: Make) -> None:
    """Nothing to stretch: undefined, for a constant map of either model."""
    where = pair()
    some = numbers(97, 6, 6, 6)
    flat = some.clone()
    flat[1], flat[2] = 0.0, 0.1

    def mixed(x: Tensor, target: Tensor, setting: Setting) -> Tensor:
        kept = torch.arange(len(x)) != 4
        return some * kept.view(-1, 1, 1)

    found = make(target="asked")(Trial(where, flat, explain=mixed))
    assert found["defined"].tolist() == [True, False, False, True, False, True]
    assert found["value"][[1, 2, 4]].tolist() == [0, 0, 0]
    assert make(target="asked", stretch=False)(Trial(where, flat, explain=mixed))["defined"].all()


def _check_the_sibling_s_own_hints(make: Make) -> None:
    """A hint that is marked as the sibling's reaches the method with it, without the mark; else the model's."""
    seen: list[Mapping[str, str]] = []

    def note(x: Tensor, target: Tensor, setting: Setting) -> Tensor:
        seen.append(setting.hints)
        return explain(x, target, setting)

    hints = {"grad_cam": "1", "iba": "0", "sibling.grad_cam": "2", "sibling.iba": ""}
    for given in (hints, {"grad_cam": "1"}):
        make(target="asked")(Trial(pair(2, hints=given), numbers(98, 2, 6, 6), explain=note))
    assert seen == [{"grad_cam": "2"}, {"grad_cam": "1"}]


@seeded()
def check_top_images(make: Make) -> None:
    _check_activations(make)
    _check_sharing(make)
    _check_some_samples_undefined(make)
    _check_needs_a_sibling(make)
    wide = nn.Sequential(nn.Conv2d(2, 5, 3), nn.Flatten(), nn.Linear(80, 3)).double()
    refuses(NotApplicable, "there are 3 and 5", lambda: make(layer="0").probe(pair(3, wide)))
    nameless = replace(pair(3), setting=replace(pair(3).setting, hints={}))
    refuses(NotApplicable, "ask for layer=", lambda: make().probe(nameless))
    refuses(SpecError, "no layer '7'", lambda: make(layer="7").probe(pair(3)))
    refuses(SpecError, "k=0", lambda: make(k=0))


def _check_activations(make: Make) -> None:
    """The layer's maps, averaged or at their peak, sample by sample; vectors as they are; as many as fit one call."""
    where = pair(8, hints={"grad_cam": "1", "sibling.grad_cam": "0"})
    x = where.samples.x
    models = (where.setting.model, where.setting.sibling)
    cases = [
        ({}, (2, 1), np.mean),
        ({"layer": "1", "pool": "max"}, (2, 2), np.max),
        ({"layer": "0", "other": "1"}, (1, 2), np.mean),
        ({"layer": "3"}, (4, 4), None),
    ]
    for params, depths, pooled in cases:
        metric = make(k=3, **params)
        found = metric(Trial(where, numbers(99, 8, 6, 6), metric.probe(where)))
        for name, model, depth in zip(("own", "other"), models, depths, strict=True):
            for row in range(8):
                with torch.no_grad():
                    output = model[:depth](x[row][None])[0].numpy()  # type: ignore[index]
                expected = [pooled(channel) for channel in output] if pooled else output
                np.testing.assert_allclose(found[name][row], expected, rtol=1e-10)
        score = metric.reduce(found)
        np.testing.assert_allclose(score.value, literal.common_top(found["own"], found["other"], 3), rtol=1e-12)
        assert (score.count, score.defined) == (8, 8)
        trial = Trial(where, numbers(99, 8, 6, 6), metric.probe(where))
        parts = merge([metric(take(trial, slice(start, start + 3))) for start in (0, 3, 6)])
        np.testing.assert_allclose(metric.reduce(parts).value, score.value, rtol=1e-12)
    handed = replace(where, setting=replace(where.setting, forward=network()))  # equal, and nobody's layers
    np.testing.assert_array_equal(make().probe(handed)["own"], make().probe(where)["own"])


def _check_sharing(make: Make) -> None:
    """Ties share places, channels without a top do not count, k images or fewer say nothing, resamples do."""
    random = np.random.default_rng(0)
    own, other = random.normal(size=(12, 5)).clip(0), random.normal(size=(12, 5)).round()
    own[:, 1], other[:, 2] = 0.0, 3.0
    other[:, 4] = -own[:, 4]
    for k in (1, 4, 11):
        metric, expected = make(k=k), literal.common_top(own, other, k)
        np.testing.assert_allclose(metric.reduce(told(own, other)).value, expected, rtol=1e-12)
        again = random.integers(12, size=12)
        score = metric.reduce(told(own, other).take(again))
        np.testing.assert_allclose(score.value, literal.common_top(own[again], other[again], k), rtol=1e-12)
        same = metric.reduce(told(own, 2 * own + 1))
        np.testing.assert_allclose(same.value, 1.0, rtol=1e-12)
    fires = np.zeros((40, 4))
    fires[:3], apart = 1.0 + random.random((3, 4)), np.roll(fires, 5, axis=0)
    apart[5:8] = 1.0
    assert make().reduce(told(fires, apart)).value == 0.0  # three of 40 each, and never the same
    assert make(k=12).reduce(told(own, other)).value is None
    assert make(k=3).reduce(told(own[:, 1:2], other[:, 1:2])).value is None
    assert make(k=3).reduce(told(own, other, np.zeros(12, dtype=bool))).value is None


def _check_some_samples_undefined(make: Make) -> None:
    """A sample without finite activations is left out."""
    metric = make(k=2)
    where = pair(6)
    probe = metric.probe(where)
    probe["other"][2, 1] = torch.inf
    found = metric(Trial(where, numbers(90, 6, 6, 6), probe))
    assert found["defined"].tolist() == [True, True, False, True, True, True]
    kept = [0, 1, 3, 4, 5]
    expected = literal.common_top(probe["own"].numpy()[kept], probe["other"].numpy()[kept], 2)
    score = metric.reduce(found)
    np.testing.assert_allclose(score.value, expected, rtol=1e-12)
    assert (score.count, score.defined) == (6, 5)


def told(own: np.ndarray, other: np.ndarray, defined: np.ndarray | None = None) -> Evidence:
    return Evidence({"own": own, "other": other, "defined": np.ones(len(own), bool) if defined is None else defined})
