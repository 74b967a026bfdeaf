"""The checks of F-Fidelity. Each takes what makes the metric, so that mutants can be checked too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np
import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.evidence import Evidence
from assay.core.features import Columns
from assay.core.trial import Scene, Trial
from oracles.metrics import literal
from oracles.metrics.checks_soco import predicted
from oracles.metrics.refusals import refuses
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
PROBABILITY = {"readout": "probability"}


def check_f_fidelity(make: Make) -> None:
    """Sizes are by hand: 5 %, ..., 95 % of the features for 19; no more than the features allow."""
    images, tables = image_scene(4), table_scene(4)
    fifths, sevens = [7, 14, 22, 29], [1, 2, 3, 4, 5, 6]
    for where, attribution, params, counts in (
        (images, numbers(81, 4, 2, 6, 6), {"sizes": 4, "draws": 5, "canvas": "true", **PROBABILITY}, fifths),
        (images, numbers(82, 4, 6, 6), {"sizes": 4, "draws": 2, "absolute": True}, fifths),
        (
            predicted(images),
            numbers(83, 4, 2, 6, 6),
            {"sizes": 4, "draws": 7, "alpha": 0.9, "beta": 0.8, "by": "accuracy"},
            fifths,
        ),
        (
            tables,
            numbers(84, 4, 10),
            {"draws": 3, "alpha": 0.9, "beta": 0.4, "temperature": 2.0, **PROBABILITY},
            sevens,
        ),
        (tables, numbers(84, 4, 10), {"draws": 3, "alpha": 0.9, "canvas": 0.7, **PROBABILITY}, sevens),
        (tables, numbers(85, 4, 7), {"sizes": 2, "draws": 3, "alpha": 0.2, "canvas": "rows"}, [2, 5]),
        (asking(tables, "logit"), numbers(86, 4, 7), {"draws": 4, "beta": 0.8}, sevens),
        (asking(tables, "logit"), numbers(86, 4, 7), {"draws": 2, "beta": 0.8, **PROBABILITY}, sevens),
    ):
        _check_value(make(**params), where, attribution, counts)
    _check_default_sizes(make)
    _check_what_is_removed(make)
    _check_all_orders(make)
    _check_ties(make)
    _check_what_is_refused(make)


check_f_fidelity_plus = check_f_fidelity_minus = check_f_fidelity


def _check_value(metric: Any, where: Scene, attribution: Tensor, counts: list[int]) -> None:
    found, features, params = metric(Trial(where, attribution)), members(where.setting.features), vars(metric)
    total = len(features)
    np.testing.assert_allclose(found.axis["curve"], np.array(counts) / total, rtol=1e-12)
    for row in range(len(attribution)):
        flat = attribution[row].numpy()
        per_feature = flat.ravel() if flat.size == total else np.array([flat[mask].sum() for mask in features])
        sequence = literal.order(per_feature.tolist(), params["absolute"])
        without = partial(_without, metric, where, row)
        heights = []
        for place, count in enumerate(counts):
            whole = _ask(metric, where, row)(where.samples.x[row].numpy())
            plus = whole - without(sequence[:count], total, place)
            minus = whole - without(sequence[count:], total, place)
            heights.append({"plus": plus, "minus": minus, "delta": plus - minus}[params["part"]])
        np.testing.assert_allclose(found["curve"][row], heights, rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(found["value"][row], np.mean(heights), rtol=1e-8, atol=1e-12)
    assert found["defined"].all()
    assert np.ptp(found["value"]) > 0.001


def _ask(metric: Any, where: Scene, row: int) -> Callable[[np.ndarray], float]:
    """What the metric reads: whether the label is chosen, the target's probability or its logit."""
    if metric.by == "score":
        read = metric.readout or where.setting.question.readout
        return answer(where, row, None if read == "logit" else metric.temperature or 1.0)

    def right(image: np.ndarray) -> float:
        with torch.no_grad():
            said = where.setting.model(torch.from_numpy(image)[None])[0]
        return float(int(said.argmax()) == int(where.samples.label[row]))

    return right


def _without(metric: Any, where: Scene, row: int, chosen: Sequence[int], total: int, place: int) -> float:
    """The mean answer without some of the chosen features, at one size."""
    features, x = members(where.setting.features), where.samples.x[row].numpy()
    reference = where.setting.reference
    assert reference is not None
    rows = list(reference.x.numpy()) if metric.canvas == "rows" else [np.full_like(x, CANVAS[metric.canvas])]

    def images(removed: Sequence[int]) -> list[np.ndarray]:
        versions = []
        for canvas in rows:
            image = x.copy()
            for feature in removed:
                image[features[feature]] = canvas[features[feature]]
            versions.append(image)
        return versions

    stream = where.stream.draws("removed", [where.samples.indices[row]])
    drawn = [stream.uniform(total)[0].tolist() for _ in range((place + 1) * metric.draws)][-metric.draws :]
    chance = min(metric.alpha, metric.beta * total / len(chosen))
    return literal.answer_without_some(_ask(metric, where, row), images, chosen, chance, drawn)


def _check_default_sizes(make: Make) -> None:
    where = scene(numbers(87, 1, 40), Lambda(lambda x: x[:, :3]), Columns.plain(40))
    metric = make()
    assert (metric.alpha, metric.beta, metric.draws) == (0.5, 0.1, 50)
    found = make(draws=1)(Trial(where, numbers(88, 1, 40)))
    np.testing.assert_allclose(found.axis["curve"], [share / 20 for share in range(1, 20)], rtol=1e-12)


def removed_sets(make: Make, where: Scene, attribution: Tensor, **params: Any) -> Tensor:
    """What is removed for each size and draw, (calls, B, P), seen by a canvas function."""
    seen: list[Tensor] = []

    def canvas(x: Tensor, keep: Tensor) -> Tensor:
        seen.append(~keep.flatten(1))
        return x

    make(canvas=canvas, **params)(Trial(where, attribution))
    sets = torch.cat(seen[1:])  # the first call asks for the bare canvas
    return sets.view(-1, len(where.samples), sets.shape[1])


def _check_what_is_removed(make: Make) -> None:
    """Each feature of a set of n with its chance: independently, anew in each draw, for each size and sample.

    Of 40 features 20, 60 and 80 % are explained; at most 15 % are removed on average, and at most 0.4 of a set.
    """
    draws, count = 200, 8
    where = scene(numbers(89, count, 40), Lambda(lambda x: x[:, :3]), Columns.plain(40))
    order = torch.arange(40, 0, -1).double().expand(count, 40)  # the first features are the highest
    part = make().part
    sets = removed_sets(make, where, order, draws=draws, sizes=4, alpha=0.4, beta=0.15)
    parts = sets.view({"delta": 2}.get(part, 1), 4, draws, count, 40)
    if part != "plus":
        for size, removed in zip((8, 16, 24, 32), parts[0], strict=True):
            _check_sets(removed[..., size:], removed[..., :size], min(0.4, 6 / (40 - size)))
    if part != "minus":
        for size, removed in zip((8, 16, 24, 32), parts[-1], strict=True):
            _check_sets(removed[..., :size], removed[..., size:], min(0.4, 6 / size))


def _check_sets(inside: Tensor, outside: Tensor, chance: float) -> None:
    """``inside`` (draws, B, n): the features that may be removed."""
    assert not outside.any()
    error = (chance * (1 - chance) / inside[..., 0].numel()) ** 0.5
    assert float((inside.double().mean(dim=(0, 1)) - chance).abs().max()) < 5 * error
    alike = chance**2 + (1 - chance) ** 2  # of two independent ones
    error = (alike * (1 - alike) / inside[1:].numel()) ** 0.5
    pairs = ((inside[1:], inside[:-1]), (inside[:, 1:], inside[:, :-1]), (inside[..., 1:], inside[..., :-1]))
    for left, right in pairs:  # draws, samples, features
        assert abs(float((left == right).double().mean()) - alike) < 6 * error


def _check_all_orders(make: Make) -> None:
    """Where all of a set is removed, the mean over all orders of five features is that over all sets of its size.

    So the mean of both parts is the same, and the mean of their difference 0, whatever the model.
    """
    features, table, powers = Columns.plain(5), numbers(90, 32, 3), 2 ** torch.arange(5)
    model = Lambda(lambda x: table[((x != 0) * powers).sum(dim=1)])  # any number for any set of features
    orders = torch.tensor(list(permutations(range(5))), dtype=torch.float64)
    where = scene(torch.ones(len(orders), 5, dtype=torch.float64), model, features)
    where = replace(where, target=torch.zeros(len(orders), dtype=torch.long))  # one question for all
    metric = make(alpha=1.0, beta=1.0, draws=2, readout="logit")
    found = metric(Trial(where, orders))
    left = [0.0] * 32
    for kept in range(32):
        left[kept] = float(table[kept, 0])
    mean_lost = left[31] - np.mean([np.mean([left[k] for k in range(32) if k.bit_count() == n]) for n in range(1, 5)])
    assert abs(found["value"].mean() - (0.0 if metric.part == "delta" else mean_lost)) < 1e-12
    assert found["value"].std() > 0.01


def _check_ties(make: Make) -> None:
    """A constant map is ranked by ties, on each sample's own way, and the same way again."""
    base = table_scene(1, features=PLAIN)
    where = scene(base.samples.x.expand(12, -1).contiguous(), base.setting.model, PLAIN)
    where = replace(where, target=torch.zeros(12, dtype=torch.long))
    metric = make(alpha=1.0, beta=1.0, draws=1, readout="logit")
    found, again = (metric(Trial(where, torch.full((12, 7), height)))["value"] for height in (1.0, 2.0))
    assert len(np.unique(found.round(9))) > 6
    np.testing.assert_array_equal(found, again)


def _check_what_is_refused(make: Make) -> None:
    x = numbers(91, 2, 7).abs() + 1
    x[1, :6] = 0
    model = Lambda(lambda x: x[:, :3] / x[:, :6].sum(dim=1, keepdim=True))
    found: Evidence = make(draws=2)(Trial(scene(x, model, PLAIN), numbers(92, 2, 7)))
    assert found["defined"].tolist() == [True, False]
    one = table_scene(2, features=Columns((0, 0)))
    refuses(NotApplicable, "at least two features", partial(make(), Trial(one, numbers(93, 2, 1))))
    values = scene(numbers(94, 2, 7), Lambda(lambda x: x.sum(1, keepdim=True)), PLAIN, VALUE)
    refuses(NotApplicable, "needs a classifier", partial(make(by="accuracy"), Trial(values, numbers(95, 2, 7))))
    assert make(draws=2)(Trial(values, numbers(95, 2, 7)))["defined"].all()
    for name, wrong in (("alpha", 0.0), ("alpha", 1.1), ("beta", 0.0), ("beta", 1.1)):
        refuses(SpecError, "are shares: above 0, up to 1", partial(make, **{name: wrong}))
    for name in ("draws", "sizes"):
        refuses(SpecError, "must be 1 or more", partial(make, **{name: 0}))
