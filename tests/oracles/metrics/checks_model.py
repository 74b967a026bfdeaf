"""Checks of the metrics that ask the model. Each takes what makes the metric, so that mutants can be checked too."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import torch
from torch import Tensor

from assay.core.features import Columns, Features, Pixels
from assay.core.trial import Scene, Trial
from oracles.metrics import literal
from oracles.metrics.checks_soco import by_accuracy
from oracles.metrics.scenes import (
    PLAIN,
    VALUE,
    Lambda,
    answer,
    asking,
    image_scene,
    members,
    numbers,
    scene,
    table_scene,
)

Make = Callable[..., Any]
CANVAS = {"zero": 0.0, "true": 0.25, 0.7: 0.7}  # what the scenes hold


def check_insertion(make: Make) -> None:
    _check_exchange(make, insert=True)
    _check_random_ties(make)
    by_accuracy(make, insert=True)


def check_deletion(make: Make) -> None:
    _check_exchange(make, insert=False)
    _check_random_ties(make)
    by_accuracy(make, insert=False)


def check_symmetric_relevance_gain(make: Make) -> None:
    """Counts are by hand: from 0 to P in about equal steps, with every k also P - k."""
    images, tables = image_scene(4), table_scene(4)
    fifths, sevenths = [0, 7, 14, 22, 29, 36], [0, 1, 2, 3, 4, 5, 6, 7]
    for where, attribution, params, counts in (
        (images, numbers(11, 4, 2, 6, 6), {"steps": 5, "canvas": "true", "temperature": 2.0}, fifths),
        (images, numbers(12, 4, 6, 6), {"steps": 6, "canvas": 0.7, "absolute": True}, [0, 6, 12, 18, 24, 30, 36]),
        (tables, numbers(13, 4, 10), {"steps": 3, "absolute": True}, [0, 2, 5, 7]),
        (tables, numbers(14, 4, 7), {"steps": 4, "readout": "logit"}, [0, 1, 3, 4, 6, 7]),
        (tables, numbers(14, 4, 7), {"steps": 9, "canvas": "rows"}, sevenths),
        (asking(tables, "logit"), numbers(14, 4, 7), {}, sevenths),
        (asking(tables, "logit"), numbers(14, 4, 7), {"readout": "probability"}, sevenths),
    ):
        _check_gain(make(**params), where, attribution, counts)
    _check_random_gain(make)
    _check_gain_by_accuracy(make)


def check_sensitivity_n(make: Make) -> None:
    _check_design(make)
    _check_correlation(make, image_scene(3), numbers(21, 3, 2, 6, 6), {"canvas": "true", "temperature": 2.0})
    _check_correlation(make, table_scene(4), numbers(22, 4, 10), {"canvas": 0.7})
    for readout in ({}, {"readout": "probability"}):
        _check_correlation(make, asking(table_scene(4), "logit"), numbers(23, 4, 10), {"canvas": "zero", **readout})
    _check_some_sizes_undefined(make)


def cases() -> list[tuple[Scene, Tensor, dict[str, Any]]]:
    """Scenes, attributions and parameters: per entry and per feature, with ties, steps that do not divide P, P + 4."""
    images, tables = image_scene(4), table_scene(4)
    return [
        (images, numbers(11, 4, 2, 6, 6), {"steps": 5, "canvas": "true", "temperature": 2.0}),
        (images, numbers(12, 4, 6, 6).mul(2).round(), {"steps": 40, "canvas": 0.7}),
        (tables, numbers(13, 4, 10), {"steps": 3, "absolute": True}),
        (tables, numbers(14, 4, 7), {"steps": 7, "readout": "logit"}),
        (asking(tables, "logit"), numbers(14, 4, 7), {"steps": 7}),
        (asking(tables, "logit"), numbers(14, 4, 7), {"steps": 7, "readout": "probability"}),
    ]


def _temperature(where: Scene, params: dict[str, Any]) -> float | None:
    """Of the softmax; None where the logit is read: as the metric is told, else as the environment asks."""
    read = params.get("readout") or where.setting.question.readout
    return None if read == "logit" else params.get("temperature", 1.0)


def _check_exchange(make: Make, insert: bool) -> None:
    for where, attribution, params in cases():
        found = make(**params)(Trial(where, attribution))
        features = members(where.setting.features)
        for row in range(len(attribution)):
            x = where.samples.x[row].numpy()
            canvas = np.full_like(x, CANVAS[params.get("canvas", "zero")])
            sequence = literal.order(_per_feature(attribution[row], features), params.get("absolute", False))
            before, after = (canvas, x) if insert else (x, canvas)
            ask = answer(where, row, _temperature(where, params))
            heights, shares = literal.exchanged(ask, before, after, features, sequence, params["steps"])
            np.testing.assert_allclose(found["curve"][row], heights, rtol=1e-9, atol=1e-14)
            np.testing.assert_allclose(found.axis["curve"], shares, rtol=1e-12)
            np.testing.assert_allclose(found["value"][row], literal.trapezoid(heights, shares), rtol=1e-9)
        assert found["defined"].all()


def _check_random_ties(make: Make) -> None:
    """The same input many times under a constant map: every sample goes its own way, and the same way again."""
    base = table_scene(1, features=PLAIN)
    where = scene(base.samples.x.expand(12, -1).contiguous(), base.setting.model, PLAIN)
    value = make(ties="random", readout="logit")(Trial(where, torch.ones(12, 7)))["value"]
    same_target = value[::3]
    assert len(np.unique(same_target.round(9))) > 1
    again = make(ties="random", readout="logit")(Trial(where, torch.full((12, 7), 2.0)))["value"]
    np.testing.assert_array_equal(value, again)
    distinct = Trial(where, numbers(15, 12, 7))
    np.testing.assert_allclose(make(ties="random")(distinct)["value"], make()(distinct)["value"], rtol=1e-12)


def _check_gain(metric: Any, where: Scene, attribution: Tensor, counts: list[int]) -> None:
    features, params = members(where.setting.features), vars(metric)
    found = metric(Trial(where, attribution))
    reference = where.setting.reference
    assert reference is not None
    np.testing.assert_allclose(found.axis["curve"], np.array(counts) / len(features), rtol=1e-12)
    for row in range(len(attribution)):
        x, ask = where.samples.x[row].numpy(), answer(where, row, _temperature(where, _set(params)))
        canvases = (
            list(reference.x.numpy()) if params["canvas"] == "rows" else [np.full_like(x, CANVAS[params["canvas"]])]
        )

        def without(
            removed: Sequence[int], x: np.ndarray = x, ask: Any = ask, canvases: list[np.ndarray] = canvases
        ) -> float:
            answers = []
            for canvas in canvases:
                image = x.copy()
                for feature in removed:
                    image[features[feature]] = canvas[features[feature]]
                answers.append(ask(image))
            return sum(answers) / len(answers)

        sequence = literal.order(_per_feature(attribution[row], features), params["absolute"])
        expected = literal.relevance_gain(without, sequence, counts)
        np.testing.assert_allclose(found["value"][row], expected, rtol=1e-8, atol=1e-13)
        for place, number in enumerate(counts):
            gain = without(sequence[::-1][:number]) - without(sequence[:number])
            np.testing.assert_allclose(found["curve"][row][place], gain, rtol=1e-8, atol=1e-13)
    assert found["defined"].all()


def _set(params: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value is not None}


def _check_random_gain(make: Make) -> None:
    """Over all orders of five features the mean is 0, whatever the model; ties of a constant map go many ways."""
    features = Columns.plain(5)
    table = numbers(16, 32, 3)
    powers = 2 ** torch.arange(5)
    model = Lambda(lambda x: table[((x != 0) * powers).sum(dim=1)])  # any number for any set of features
    orders = torch.tensor(list(permutations(range(5))), dtype=torch.float64)
    where = scene(torch.ones(len(orders), 5, dtype=torch.float64), model, features)
    where = replace(where, target=torch.zeros(len(orders), dtype=torch.long))  # one question for all
    for steps in (2, 3, 4, 5):
        value = make(steps=steps, readout="logit")(Trial(where, orders))["value"]
        assert abs(value.mean()) < 1e-12
        assert value.std() > 0.01
        back = make(steps=steps, readout="logit")(Trial(where, -orders))["value"]
        np.testing.assert_allclose(back, -value, atol=1e-12)
    ties = make(readout="logit")(Trial(where, torch.ones(len(orders), 5)))["value"]
    assert len(np.unique(ties.round(9))) > 20
    np.testing.assert_array_equal(ties, make(readout="logit")(Trial(where, torch.full((len(orders), 5), 2.0)))["value"])


def _check_gain_by_accuracy(make: Make) -> None:
    """The true class is the largest of three columns; by the explained class, values would differ."""
    where = scene(numbers(17, 6, 7), Lambda(lambda x: x[:, :3]), PLAIN)
    found = make(by="accuracy")(Trial(where, numbers(18, 6, 7)))
    for row in range(6):
        sequence = literal.order(numbers(18, 6, 7)[row].tolist(), absolute=False)

        def right(removed: Sequence[int], row: int = row) -> float:
            left = [0.0 if column in removed else float(where.samples.x[row, column]) for column in range(3)]
            return float(left.index(max(left)) == int(where.samples.label[row]))

        np.testing.assert_allclose(
            found["value"][row], literal.relevance_gain(right, sequence, list(range(8))), atol=1e-12
        )


def decoded(metric: Any, features: Features) -> list[list[list[int]]]:
    """The metric's random sets [size][set], read off a model that counts in binary: feature j adds 2 ** j."""
    weights = torch.zeros(features.entries, dtype=torch.float64)
    for feature, mask in enumerate(members(features)):
        weights.view(-1)[int(mask.ravel().argmax())] = 2.0**feature  # the first entry speaks for its feature
    model = Lambda(lambda x: (x * weights).flatten(1).sum(1, keepdim=True))
    where = scene(torch.ones(1, *features.entries, dtype=torch.float64), model, features, VALUE)
    rest = metric.probe(where)["without"][0].long()
    count = len(members(features))
    return [[[j for j in range(count) if not number >> j & 1] for number in row] for row in rest.tolist()]


def _check_design(make: Make) -> None:
    """Sizes evenly spaced in their logarithm; sets of that size, nested, different, fair to every feature."""
    found = make(sets=700, canvas="zero", readout="value")
    table = decoded(found, PLAIN)
    assert [{len(chosen) for chosen in sets} for sets in table] == [{1}, {2}, {3}, {4}, {5}, {6}]
    assert all(set(small) < set(large) for small, large in zip(table[0], table[4], strict=True))
    assert len({tuple(chosen) for chosen in table[1]}) == 21  # every pair
    assert max(abs(table[0].count([j]) - 100) for j in range(7)) < 5 * 9.3
    image = decoded(make(sizes=6, sets=10, canvas="zero", readout="value"), Pixels(2, 6, 6))
    assert [{len(chosen) for chosen in sets} for sets in image] == [{1}, {2}, {4}, {8}, {17}, {35}]


def _check_correlation(make: Make, where: Scene, attribution: Tensor, params: dict[str, Any]) -> None:
    """The literal correlation for every sample and N; a constant map is undefined; a shared probe changes nothing."""
    attribution[-1] = where.setting.features.expand(torch.ones(where.setting.features.shape))
    attribution[-1] /= where.setting.features.expand(where.setting.features.pool(attribution[-1]))
    metric = make(sizes=5, sets=12, **params)
    trial = Trial(where, attribution, metric.probe(where))
    found, features = metric(trial), members(where.setting.features)
    sets = decoded(make(sizes=5, sets=12, canvas="zero", readout="value"), where.setting.features)
    assert found.axis["curve"].tolist() == [len(chosen[0]) for chosen in sets]
    for row in range(len(attribution)):
        x, values = where.samples.x[row].numpy(), _per_feature(attribution[row], features)
        canvas, ask = np.full_like(x, CANVAS[params["canvas"]]), answer(where, row, _temperature(where, params))
        expected = [literal.correlation(ask, x, canvas, features, values, chosen) for chosen in sets]
        assert found["curve_defined"][row].tolist() == [value is not None for value in expected]
        numbers_ = [value for value in expected if value is not None]
        np.testing.assert_allclose(found["curve"][row][found["curve_defined"][row]], numbers_, rtol=1e-8, atol=1e-9)
        assert bool(found["defined"][row]) == (len(numbers_) > 0) == (row < len(attribution) - 1)
        np.testing.assert_allclose(found["value"][row], np.mean(numbers_) if numbers_ else 0, rtol=1e-8, atol=1e-9)
    alone = metric(Trial(where, attribution))
    np.testing.assert_array_equal(alone["curve"], found["curve"])
    for factor in (-1.0, 1e-20, -1e20):
        other = metric(Trial(where, factor * attribution, trial.probe))
        np.testing.assert_allclose(other["curve"], np.sign(factor) * found["curve"], rtol=1e-9)
        np.testing.assert_array_equal(other["curve_defined"], found["curve_defined"])


def _check_some_sizes_undefined(make: Make) -> None:
    """Feature 0 counts while few are missing: up to two of sample 0, one of sample 2, none of sample 1."""
    model = Lambda(lambda x: (x[:, 0] * (x.sum(1) > 4.5) * x.amax(1)).unsqueeze(1))
    x = torch.ones(3, 7, dtype=torch.float64)
    x[1], x[2] = 0.5, 0.8
    metric = make(sets=40, canvas="zero", readout="value")
    found = metric(Trial(scene(x, model, PLAIN, VALUE), torch.eye(7, dtype=torch.float64)[[0, 0, 1]]))
    assert found["curve_defined"].tolist() == [[True] * 2 + [False] * 4, [False] * 6, [True] + [False] * 5]
    assert found["defined"].tolist() == [True, False, True]
    score, other = metric.reduce(found), found["curve"][2, 0]
    np.testing.assert_allclose(found["curve"][0], [1, 1, 0, 0, 0, 0], rtol=1e-12)
    np.testing.assert_allclose(score.curve, [(1 + other) / 2, 1, 0, 0, 0, 0], rtol=1e-12)
    np.testing.assert_allclose(score.value, (1 + other) / 2, rtol=1e-12)
    assert (score.count, score.defined) == (3, 2)


def _per_feature(attribution: Tensor, features: list[np.ndarray]) -> list[float]:
    """Entries of a feature added up; already per feature when there is one number for each."""
    values = attribution.numpy()
    if values.size == len(features):
        return values.ravel().tolist()
    return [float(values[mask].sum()) for mask in features]
