"""Checks of soundness, completeness, ROAD and IDS. Each takes what makes the metric, so that mutants can be checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from assay.core.evidence import mean_score
from assay.core.features import Pixels
from assay.core.trial import Scene, Trial
from oracles.metrics import literal, literal_soco
from oracles.metrics.scenes import PLAIN, Lambda, image_scene, members, numbers, scene, table_scene

Make = Callable[..., Any]
CANVAS = {"zero": 0.0, "true": 0.25, 0.7: 0.7}  # what the scenes hold
RULE = {"threshold": 0.01, "strict": True, "start": 0.04, "lag": False}  # the defaults
SOME = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)


def check_completeness(make: Make) -> None:
    scale = torch.linspace(0.1, 1.5, 9, dtype=torch.float64)
    images, tables = image_scene(9), table_scene(9)
    for transform in ("abs", "clamp", "positive"):
        _check_removal(make, images, numbers(31, 9, 2, 6, 6) * scale.view(9, 1, 1, 1), transform, "true", "sample")
        _check_removal(make, tables, numbers(32, 9, 10) * scale.view(9, 1), transform, 0.7)
    for indicator, readout in (("probability", "logit"), ("sample", "logit"), ("accuracy", "logit")):
        _check_removal(make, images, numbers(33, 9, 2, 6, 6), "abs", "zero", indicator, readout)
    _check_levels_are_strict(make)
    _check_no_answer(make, "left", [False, True])


def check_soundness(make: Make) -> None:
    images, tables = predicted(image_scene(8)), predicted(table_scene(8))
    for params in (
        {},
        {"threshold": 0.1, "start": -1.0, "transform": "positive"},
        {"threshold": 1 / 8, "strict": False},
        {"threshold": 1 / 8, "lag": True, "start": 0.7},
        {"indicator": "probability", "threshold": 0.02},
        {"indicator": "sample", "threshold": 0.0, "readout": "logit", "rest": "kept", "transform": "clamp"},
        {"indicator": "sample", "threshold": 0.01},
        {"expansion": "mass", "threshold": 0.1},
        {"expansion": "grid", "threshold": 0.1},
        {"expansion": "adaptive", "threshold": 0.15, "steps": 21},
    ):
        _check_algorithm(make, images, numbers(41, 8, 2, 6, 6), {"canvas": "true", **params})
    _check_algorithm(make, tables, numbers(42, 8, 10), {"canvas": 0.7, "rest": "kept", "transform": "positive"})
    _check_grid(make)
    _check_levels(make)
    _check_nothing_to_judge(make)
    _check_tied(lambda: make(canvas="zero", ties="random", first=0.9, last=0.9, steps=1), "correct")


def check_road(make: Make) -> None:
    _check_ratios(make, lowest=False)


def check_road_lerf(make: Make) -> None:
    _check_ratios(make, lowest=True)


def check_ids(make: Make) -> None:
    _check_points(make, lowest=True)


def check_ids_descending(make: Make) -> None:
    _check_points(make, lowest=False)


def predicted(where: Scene) -> Scene:
    """The scene with the model's own classes for labels, but for one sample in four."""
    with torch.no_grad():
        label = where.setting.model(where.samples.x).argmax(dim=1)
    label[::4] = (label[::4] + 1) % 3  # so that the label is not always the answer
    return replace(where, samples=replace(where.samples, label=label))


def by_accuracy(make: Make, insert: bool) -> None:
    """Insertion and deletion by accuracy and by probability, on a canvas of each sample's own."""
    where, attribution = predicted(image_scene(5)), numbers(51, 5, 2, 6, 6)
    features = members(Pixels(2, 6, 6))
    for kind, params in (("accuracy", {"by": "accuracy"}), ("probability", {})):
        found = make(canvas="blur", steps=7, **params)(Trial(where, attribution))
        for row in range(5):
            x = where.samples.x[row].numpy()
            before, after = (literal_soco.idsds_blur(x), x) if insert else (x, literal_soco.idsds_blur(x))
            sequence = literal.order([float(attribution[row].numpy()[mask].sum()) for mask in features], False)
            ask = partial(_said, where, row, indicator=kind, readout="")
            heights, shares = literal.exchanged(ask, before, after, features, sequence, 7)
            np.testing.assert_allclose(found["curve"][row], heights, rtol=1e-9)
            np.testing.assert_allclose(found["value"][row], literal.trapezoid(heights, shares), rtol=1e-9)


def outputs(where: Scene, x: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        return where.setting.model(torch.from_numpy(x)[None])[0].numpy()


def _said(where: Scene, row: int, image: np.ndarray, indicator: str, readout: str) -> float:
    return _read(where, row, outputs(where, image), indicator, readout)


def _read(where: Scene, row: int, said: np.ndarray, indicator: str, readout: str) -> float:
    target = int(where.target[row])
    if indicator == "accuracy":
        return float(np.argmax(said) == int(where.samples.label[row]))
    if indicator == "sample" and readout == "logit":
        return float(said[target])
    return float(np.exp(said - said.max())[target] / np.exp(said - said.max()).sum())


def _check_removal(
    make: Make,
    where: Scene,
    attribution: Tensor,
    transform: str,
    canvas: Any,
    indicator: str = "accuracy",
    readout: str = "probability",
) -> None:
    metric = make(transform=transform, canvas=canvas, indicator=indicator, readout=readout)
    found, features = metric(Trial(where, attribution)), members(where.setting.features)
    left, clean = np.zeros((len(attribution), 9)), np.zeros(len(attribution))
    for row in range(len(attribution)):
        x = where.samples.x[row].numpy()
        height = literal_soco.heights(attribution[row].numpy(), features, transform)
        clean[row] = _said(where, row, x, indicator, readout)
        for column, t in enumerate([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]):
            removed = literal_soco.above(height, t)
            image = literal_soco.on_canvas(x, np.full_like(x, CANVAS[canvas]), features, removed)
            left[row, column] = _said(where, row, image, indicator, readout)
    np.testing.assert_allclose(found["clean"], clean, rtol=1e-9)
    np.testing.assert_allclose(found["left"], left, rtol=1e-9)
    score = metric.reduce(found)
    expected = [clean.sum() / len(clean) - column.sum() / len(clean) for column in left.T]
    np.testing.assert_allclose(score.curve, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(score.value, sum(expected) / 9, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.axis["curve"], np.arange(9, 0, -1) / 10, rtol=1e-12)
    assert score.count == score.defined == len(attribution)
    assert ("value" in found.rows) == (indicator == "sample")
    if indicator == "sample":
        np.testing.assert_allclose(found["value"], clean - left.mean(axis=1), rtol=1e-9, atol=1e-12)


def _check_levels_are_strict(make: Make) -> None:
    """A feature at exactly 0.3 of the largest stays at level 0.3 and goes at 0.2, in float32 too; 5 is cut to 1."""

    def classes(x: Tensor) -> Tensor:
        return torch.stack([x.flatten(1)[:, 1], torch.full((len(x),), 0.5)], 1)  # class 0 while feature 1 is on

    expected = [("abs", 1.0, 0.3, 7), ("clamp", 1.0, 0.3, 7), ("abs", 5.0, 0.65, 8), ("clamp", 5.0, 0.65, 3)]
    for features in (PLAIN, Pixels(1, 1, 7)):
        where = scene(torch.ones(1, *features.entries), Lambda(classes), features)
        for transform, largest, value, count in expected:
            attribution = torch.tensor([largest, value, 0, 0, 0, 0, 0]).view(1, *features.shape)
            left = make(transform=transform, canvas="zero")(Trial(where, attribution))["left"][0].tolist()
            assert left == [1] * count + [0] * (9 - count)


def _check_no_answer(make: Make, row: str, defined: list[bool]) -> None:
    """A model that divides by the norm of a blank canvas: undefined, and 0; other samples are judged."""
    model = Lambda(lambda x: torch.stack([x[:, 0] / x[:, :2].norm(dim=1), x[:, 1], x[:, 2]], 1))
    x = numbers(34, 2, 7)
    attribution = torch.tensor([[9.0, 9, 0, 0, 0, 0, 0], [0, 0, 9, 0, 0, 0, 0]])
    metric = make(canvas="zero")
    found = metric(Trial(scene(x, model, PLAIN), attribution))
    assert found["defined"].tolist() == defined
    assert [bool(values.any()) for values in found[row]] == defined


def _check_algorithm(make: Make, where: Scene, attribution: Tensor, params: dict[str, Any]) -> None:
    """Value, curve, performance and axis against Algorithms 1 and 3."""
    params = {"first": 0.9, "last": 0.05, "steps": 8, "ties": "stable", "levels": SOME, **params}
    metric = make(**params)
    found = metric(Trial(where, attribution))
    ratios = np.linspace(params["first"], params["last"], params["steps"])
    score, steps, pairs = metric.reduce(found), *_pairs(where, attribution, params, ratios.tolist())
    assert np.flatnonzero(score.curve_defined).tolist() == steps
    np.testing.assert_allclose(found.axis["curve"], 1 - ratios, rtol=1e-12)
    np.testing.assert_allclose(score.at[steps], [performance for performance, _ in pairs], rtol=1e-9)
    np.testing.assert_allclose(score.curve[steps], [soundness for _, soundness in pairs], rtol=1e-9, atol=1e-12)
    expected = literal_soco.at_levels(pairs, SOME)
    assert expected is not None
    np.testing.assert_allclose(score.value, expected, rtol=1e-9)
    assert score.count == score.defined == len(attribution)


def _pairs(where: Scene, attribution: Tensor, params: dict[str, Any], ratios: list[float]) -> tuple[list[int], Any]:
    """The steps that are looked at, and what Algorithm 3 finds there."""
    features, indicator = members(where.setting.features), params.get("indicator", "accuracy")
    readout, samples = params.get("readout", "probability"), range(len(attribution))
    maps = [literal_soco.heights(attribution[i].numpy(), features, params.get("transform", "abs")) for i in samples]
    kept = [_kept(where, maps[i], params.get("expansion", "area"), ratios) for i in samples]
    said = np.zeros((len(maps), 1 + len(ratios), 2))  # before any step and after each: accuracy, the sample's own score
    for i in samples:
        x = where.samples.x[i].numpy()
        for step, chosen in enumerate([[], *kept[i]]):
            keep = set(chosen)
            if params.get("rest") == "kept":
                keep |= {feature for feature, value in enumerate(maps[i]) if value == 0}
            gone = [feature for feature in range(len(features)) if feature not in keep]
            image = literal_soco.on_canvas(x, np.full_like(x, CANVAS[params["canvas"]]), features, gone)
            answer = outputs(where, image)
            said[i, step] = [_read(where, i, answer, kind, readout) for kind in ("accuracy", indicator)]
    performance = said[:, 1:, int(indicator == "probability")].mean(axis=0).tolist()
    rule = {name: params.get(name, value) for name, value in RULE.items()}
    steps = list(range(len(ratios)))
    if params.get("expansion") == "adaptive":
        steps = literal_soco.adaptive(performance, 8, rule["threshold"])
    own = said[:, [0, *(step + 1 for step in steps)], 1].tolist() if indicator == "sample" else None
    sets, seen = [[kept[i][step] for i in samples] for step in steps], [performance[step] for step in steps]
    return steps, literal_soco.algorithm_3(maps, sets, seen, rule, own)


def _kept(where: Scene, height: list[float], expansion: str, ratios: list[float]) -> list[list[int]]:
    sequence = literal.order(height, False)
    if expansion == "mass":
        return literal_soco.kept_by_mass(sequence, height, ratios)
    if expansion == "grid":  # eight cells a side are more than six pixels: every pixel is a segment
        cells = [(8 * (p // 6) // 6) * 8 + 8 * (p % 6) // 6 for p in range(36)]
        return literal_soco.kept_by_segments(cells, height, ratios)
    return literal_soco.kept_by_area(sequence, ratios)


def _check_grid(make: Make) -> None:
    """By default 2 %, 3 %, ..., 97 % are in; on larger images, cells of the grid come in whole."""
    pixels = Pixels(1, 20, 20)
    where = scene(torch.ones(1, 1, 20, 20), Lambda(lambda x: x.flatten(1)[:, :3]), pixels)
    map_ = torch.rand(1, 20, 20, generator=torch.Generator().manual_seed(1)).double()
    found = make(canvas="zero")(Trial(where, map_))
    np.testing.assert_allclose(found.axis["curve"], np.arange(2, 98) / 100, rtol=1e-9)
    falling = np.sort(((map_ - map_.min()) / (map_.max() - map_.min())).numpy().ravel())[::-1]
    np.testing.assert_allclose(found["kept"][0], [falling[: 4 * k].sum() for k in range(2, 98)], rtol=1e-9)
    cells = [(8 * (p // 20) // 20) * 8 + 8 * (p % 20) // 20 for p in range(400)]
    height = literal_soco.heights(map_[0].numpy(), list(np.eye(400, dtype=bool)), "abs")
    chosen = literal_soco.kept_by_segments(cells, height, (np.arange(98, 2, -1) / 100).tolist())
    grown = make(canvas="zero", expansion="grid")(Trial(where, map_))["kept"][0]
    np.testing.assert_allclose(grown, [sum(height[p] for p in kept) for kept in chosen], rtol=1e-9)


def _check_levels(make: Make) -> None:
    """Levels that are not reached do not count; where none is, there is no value and the curve is still there."""
    where = predicted(image_scene(12))
    trial = Trial(where, numbers(43, 12, 2, 6, 6))
    metric = make(canvas="true")
    found = metric(trial)
    top = float(found["correct"].mean(axis=0).max())
    assert top < 0.99
    only = make(canvas="true", levels=(0.3,)).reduce(found)
    assert make(canvas="true", levels=(0.3, top + 0.01)).reduce(found).value == only.value
    none = make(canvas="true", levels=(top + 0.01,)).reduce(found)
    assert (none.value, none.defined, none.count) == (None, only.defined, 12)
    np.testing.assert_array_equal(none.curve, only.curve)


def _check_nothing_to_judge(make: Make) -> None:
    """Samples without attribution are left out of accuracy and mean alike."""
    where, attribution = predicted(image_scene(12)), numbers(44, 12, 2, 6, 6)
    attribution[3:5] = 1.0
    metric = make(canvas="true", levels=(0.2, 0.3))
    found = metric(Trial(where, attribution))
    assert found["defined"].tolist() == [True] * 3 + [False] * 2 + [True] * 7
    rest = found.take(np.array([0, 1, 2, 5, 6, 7, 8, 9, 10, 11]))
    score, expected = metric.reduce(found), metric.reduce(rest)
    assert (score.value, score.defined, score.count) == (expected.value, 10, 12)
    _check_no_answer(make, "kept", [True, False])


def _check_tied(make: Callable[[], Any], name: str) -> None:
    """One input many times, two of ten features above the others, one of them in: every sample picks its own."""
    model = Lambda(lambda x: torch.stack([x[:, 0], x[:, 1], torch.full((len(x),), 0.5)], 1))
    where = scene(torch.ones(24, 7, dtype=torch.float64), model, PLAIN)
    where = replace(where, samples=replace(where.samples, label=torch.zeros(24, dtype=torch.long)))
    attribution = torch.zeros(24, 7, dtype=torch.float64)
    attribution[:, :2] = 1
    first = make()(Trial(where, attribution))[name][:, 0]
    assert 3 < first.sum() < 21
    np.testing.assert_array_equal(first, make()(Trial(where, 2 * attribution))[name][:, 0])


def _check_ratios(make: Make, lowest: bool) -> None:
    features = members(Pixels(2, 6, 6))
    where = predicted(image_scene(6))
    cases = [
        ({"canvas": "true", "ties": "stable"}, (0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9)),
        ({"canvas": 0.7, "by": "probability", "ratios": (0.0, 0.25, 1.0), "absolute": True}, (0.0, 0.25, 1.0)),
    ]
    for params, ratios in cases:
        attribution = numbers(61, 6, 2, 6, 6)
        found = make(**params)(Trial(where, attribution))
        np.testing.assert_allclose(found.axis["curve"], ratios, rtol=1e-12)
        for row in range(6):
            x = where.samples.x[row].numpy()
            values = [float(attribution[row].numpy()[mask].sum()) for mask in features]
            sizes = [abs(value) if params.get("absolute") else value for value in values]
            sequence = literal.order([-size for size in sizes] if lowest else sizes, False)
            kind = "probability" if "by" in params else "accuracy"
            for column, ratio in enumerate(ratios):
                removed = sequence[: int(36 * ratio + 1e-6)]
                image = literal_soco.on_canvas(x, np.full_like(x, CANVAS[params["canvas"]]), features, removed)
                expected = _said(where, row, image, kind, "probability")
                np.testing.assert_allclose(found["curve"][row, column], expected, rtol=1e-9)
        np.testing.assert_allclose(found["value"], found["curve"].mean(axis=1), rtol=1e-12)
        assert found["defined"].all()
    intact = make(ratios=(0.0,), canvas="zero")
    accuracy = np.mean([_said(where, row, where.samples.x[row].numpy(), "accuracy", "") for row in range(6)])
    np.testing.assert_allclose(mean_score(intact(Trial(where, attribution))).value, accuracy, rtol=1e-12)
    ratio = 5 / 7 if lowest else 1 / 7
    _check_tied(lambda: make(canvas="zero", ratios=(ratio + 1 / 7 * lowest,)), "curve")


def _all_together(x: Tensor, target: Tensor, setting: object) -> Tensor:
    """A method in whose map every feature depends on all others."""
    return (x * (x.flatten(1).sum(1) * (target + 1)).view(-1, 1, 1, 1)).round()


def _check_points(make: Make, lowest: bool) -> None:
    features = members(Pixels(2, 6, 6))
    where = image_scene(4)
    for params in ({"canvas": "blur"}, {"steps": 5, "absolute": True}, {"steps": 4, "again": True}):
        attribution = numbers(71, 4, 2, 6, 6).mul(2).round()
        trial = Trial(where, attribution, explain=_all_together)
        found, steps = make(**params)(trial), params.get("steps", 32)
        np.testing.assert_allclose(found.axis["curve"], np.arange(steps) / steps, rtol=1e-12)
        for row in range(4):
            x, factor = where.samples.x[row].numpy(), int(where.target[row]) + 1
            canvas = literal_soco.idsds_blur(x) if "canvas" in params else np.zeros_like(x)
            gone: list[int] = []
            current = attribution[row].numpy()
            for step in range(steps):
                image = literal_soco.on_canvas(x, canvas, features, gone)
                expected = _said(where, row, image, "probability", "")
                np.testing.assert_allclose(found["curve"][row, step], expected, rtol=1e-9)
                if "again" in params and step > 0:
                    current = (image * image.sum() * factor).round()
                values = [float(current[mask].sum()) for mask in features]
                sizes = [abs(value) if params.get("absolute") else value for value in values]
                sequence = literal.order([-size for size in sizes] if lowest else sizes, False)
                left = [feature for feature in sequence if feature not in gone]
                gone = gone + left[: (step + 1) * 36 // steps - len(gone)]
        np.testing.assert_allclose(found["value"], found["curve"].mean(axis=1), rtol=1e-12)
        assert found["defined"].all()
