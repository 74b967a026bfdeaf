"""Checks of remove and retrain; the models are weighted centroids, which are trained in no time and restored."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from assay.core.errors import NotApplicable
from assay.core.evidence import mean_score
from assay.core.setting import Recipe, Reference, Samples
from assay.core.trial import Scene, Trial
from oracles.metrics import literal_roar
from oracles.metrics.scenes import image_scene, members, numbers, table_scene

Make = Callable[..., Any]
SHARES = (0.0, 0.29, 0.5, 0.9)


class Centroids(nn.Module):
    """The class whose mean is nearest, by distances that a seed weighs."""

    def __init__(self, centres: Tensor, weights: Tensor) -> None:
        super().__init__()
        self.register_buffer("centres", centres)
        self.register_buffer("weights", weights)

    def forward(self, x: Tensor) -> Tensor:
        far = (x.flatten(1)[:, None] - self.centres).square().sum(dim=2)
        return -far * self.weights


def weights_of(seed: int) -> list[float]:
    return [0.6 + ((seed >> (4 * label)) % 16) / 8 for label in range(3)]


class Diary:
    """A recipe that notes what it was given."""

    def __init__(self) -> None:
        self.rows: list[Tensor] = []
        self.seeds: list[int] = []

    def train(self, x: Tensor, label: Tensor, seed: int) -> nn.Module:
        self.rows.append(x)
        self.seeds.append(seed)
        centres = torch.stack([x[label == one].flatten(1).mean(dim=0) for one in range(3)])
        return Centroids(centres, torch.tensor(weights_of(seed), dtype=x.dtype))

    def restore(self, weights: Mapping[str, Tensor]) -> nn.Module:
        return Centroids(weights["centres"], weights["weights"])

    def recipe(self) -> Recipe:
        return Recipe(self.train, lambda model: dict(model.state_dict()), self.restore)


def check_roar(make: Make) -> None:
    tables, images = table_scene(12), image_scene(9)
    signed, sizes = {"absolute": False}, {"absolute": True}
    for ranking in ("sample", "global"):
        for order in ("morf", "lerf"):
            common = {"ranking": ranking, "order": order, "shares": SHARES}
            _check(make, tables, {**common, **sizes, "repeats": 3}, "mean")
            _check(make, images, {**common, **signed, "repeats": 2}, 0.7)
    _check(make, tables, {"shares": (0.3,)}, "mean")
    with pytest.MonkeyPatch.context() as patch:  # one model's rows at a time
        patch.setattr(sys.modules[make.__module__], "NUMBERS_HELD", 1)
        _check(make, tables, {"shares": SHARES, "repeats": 2}, "mean")
    _check_share_zero(make)
    _check_ties(make)
    _check_orders_of_ties(make)
    _check_measures(make)
    _check_what_is_missing(make)


def setup(where: Scene, diary: Diary) -> tuple[Scene, Scene]:
    """The scene of the evaluated rows and that of 24 reference rows, three classes apart from each other."""
    entries = where.setting.features.entries
    label = torch.arange(24) % 3
    apart = numbers(71, 3, *entries) * 0.6
    reference = Reference(numbers(72, 24, *entries) + apart[label] + 0.4, label)
    setting = replace(where.setting, reference=reference, recipe=diary.recipe())
    samples = replace(where.samples, x=where.samples.x + apart[where.samples.label] + 0.4)
    evaluated = replace(where, setting=setting, samples=samples)
    known = Samples(reference.x, label, None, tuple(range(24)))
    return evaluated, replace(where, setting=setting, samples=known, target=(label + 1) % 3)


def _check(make: Make, where: Scene, params: dict[str, Any], canvas: str | float) -> None:
    diary = Diary()
    evaluated, known = setup(where, diary)
    features = where.setting.features
    maps = numbers(73, 24, *features.entries), numbers(74, len(evaluated.samples), *features.entries)
    metric = make(**{**params, "canvas": canvas})
    prepared = metric.prepare(Trial(known, maps[0]))
    found = metric(Trial(evaluated, maps[1], {}, prepared))

    shares, repeats = params["shares"], params.get("repeats", 1)
    assert len(diary.seeds) == len(shares) * repeats
    assert diary.seeds == diary.seeds[:repeats] * len(shares)  # by repeat, not by share
    assert len(set(diary.seeds)) == repeats
    masks = members(features)
    base = known.samples.x.numpy().mean(axis=0) if canvas == "mean" else np.full(features.entries, canvas)
    right = literal_roar.roar(
        (*_rows(known), _per_feature(maps[0], masks)),
        (*_rows(evaluated), _per_feature(maps[1], masks)),
        masks,
        base,
        _learner(diary.seeds[:repeats]),
        shares,
        params.get("ranking", "sample"),
        params.get("order", "morf") == "lerf",
        params.get("absolute", True),
        repeats,
    )
    curve = np.array(right, dtype=float).mean(axis=2)
    assert 0 < curve.mean() < 1  # or there is nothing to see
    np.testing.assert_array_equal(found["right"], right)
    np.testing.assert_allclose(found["curve"], curve, rtol=1e-12)
    np.testing.assert_array_equal(found.axis["curve"], shares)
    height = literal_roar.mean_height(curve.mean(axis=0).tolist(), shares)
    value = 1 - height if params.get("order") == "lerf" else height
    assert mean_score(found).value is not None
    np.testing.assert_allclose(mean_score(found).value, value, rtol=1e-9)
    assert found["defined"].all()


def _rows(scene: Scene) -> tuple[list[np.ndarray], list[int]]:
    return [row.numpy() for row in scene.samples.x], scene.samples.label.tolist()


def _per_feature(maps: Tensor, masks: list[np.ndarray]) -> list[list[float]]:
    return [[float(one[mask].sum()) for mask in masks] for one in maps.numpy()]


def _learner(seeds: list[int]) -> literal_roar.Learn:
    def learn(rows: list[np.ndarray], labels: list[int], repeat: int) -> Callable[[np.ndarray], int]:
        groups = [[row for row, label in zip(rows, labels, strict=True) if label == one] for one in range(3)]
        centres = [sum(group) / len(group) for group in groups]
        weights = weights_of(seeds[repeat])

        def nearest(x: np.ndarray) -> int:
            far = [weight * ((x - centre) ** 2).sum() for weight, centre in zip(weights, centres, strict=True)]
            return far.index(min(far))

        return nearest

    return learn


def _check_share_zero(make: Make) -> None:
    """Without anything removed, methods do not differ: the same rows, the same seeds."""
    diary = Diary()
    evaluated, known = setup(table_scene(6), diary)
    metric = make(shares=(0.0, 0.5), repeats=2)
    found = []
    for seed in (1, 2):
        prepared = metric.prepare(Trial(known, numbers(seed, 24, 10)))
        found.append(metric(Trial(evaluated, numbers(seed + 2, 6, 10), {}, prepared)))
    np.testing.assert_array_equal(found[0]["right"][:, 0], found[1]["right"][:, 0])
    assert torch.equal(diary.rows[0], known.samples.x)
    assert not torch.equal(diary.rows[2], diary.rows[6])


def _check_ties(make: Make) -> None:
    """A constant map: features in reading order, or each row's own shuffle, or one for all."""
    for ranking in ("sample", "global"):
        gone = {ties: _gone(make(shares=(0.5,), ranking=ranking, ties=ties)) for ties in ("stable", "random")}
        assert gone["stable"][:, :3].all()
        assert not gone["stable"][:, 3:].any()
        assert (gone["random"].sum(axis=1) == 3).all()
        kinds = {tuple(row) for row in gone["random"].tolist()}
        assert len(kinds) == 1 if ranking == "global" else len(kinds) > 5
        assert (gone["random"] != gone["stable"]).any()
    names = _gone(make(shares=(0.5,), ranking="global", ties="stable"), torch.tensor([0.0, 0, 0, 0, 0, 0, -1]))
    assert names[:, [0, 1, 6]].all()


def _check_orders_of_ties(make: Make) -> None:
    """A constant map is a random order for every repeat, the same for all rows and shares."""
    diary = Diary()
    evaluated, known = setup(table_scene(5), diary)
    metric = make(shares=(0.3, 0.5), ranking="global", repeats=3)
    prepared = metric.prepare(Trial(known, torch.ones(24, 7).double()))
    masks = members(known.setting.features)
    orders = [prepared["order"][repeat].tolist() for repeat in range(3)]
    assert all(sorted(order) == list(range(7)) for order in orders)
    assert len({tuple(order) for order in orders}) == 3
    canvas = known.samples.x.numpy().mean(axis=0)
    for number, rows in enumerate(diary.rows):  # by share, then by repeat
        share, order = (0.3, 0.5)[number // 3], orders[number % 3]
        expected = [literal_roar.without(x, order, share, masks, canvas) for x in known.samples.x.numpy()]
        np.testing.assert_allclose(rows, expected, rtol=1e-12)
    found = metric(Trial(evaluated, numbers(9, 5, 10), {}, prepared))
    learn = _learner(diary.seeds[:3])
    for number, rows in enumerate(diary.rows):
        share, order = (0.3, 0.5)[number // 3], orders[number % 3]
        model = learn(list(rows.numpy()), known.samples.label.tolist(), number % 3)
        seen = [literal_roar.without(x, order, share, masks, canvas) for x in evaluated.samples.x.numpy()]
        right = [model(x) == label for x, label in zip(seen, evaluated.samples.label.tolist(), strict=True)]
        assert found["right"][:, number // 3, number % 3].tolist() == right


def _check_measures(make: Make) -> None:
    """The same models, read in other ways; a sample without a finite answer counts nowhere."""
    evaluated, known = setup(table_scene(12), Diary())
    evaluated, known = (_of_two_classes(where) for where in (evaluated, known))
    x = evaluated.samples.x.clone()
    x[3] = torch.inf
    evaluated = replace(evaluated, samples=replace(evaluated.samples, x=x))
    where = Trial(known, numbers(73, 24, 10)), Trial(evaluated, numbers(74, 12, 10))
    for order in ("morf", "lerf"):
        params = {"shares": (0.0, 0.5, 0.9), "repeats": 2, "order": order}
        prepared = make(**params).prepare(where[0])
        kept = [index for index in range(12) if index != 3]
        labels = evaluated.samples.label[kept].tolist()
        assert 0 < sum(labels) < len(labels) / 2  # classes of unequal size
        for measure, row, literal in (
            ("balanced_accuracy", "right", literal_roar.balanced_accuracy),
            ("auroc", "margin", literal_roar.auroc),
        ):
            metric = make(**params, measure=measure)
            found = metric(replace(where[1], prepared=prepared))
            assert found["defined"].tolist() == [index != 3 for index in range(12)]
            numbers_ = found[row][kept]
            curve = [
                sum(literal(numbers_[:, share, repeat].tolist(), labels) for repeat in range(2)) / 2
                for share in range(3)
            ]
            assert len({*curve}) > 1
            height = literal_roar.mean_height(curve, params["shares"])
            score = metric.reduce(found)
            np.testing.assert_allclose(score.curve, curve, rtol=1e-12)
            np.testing.assert_allclose(score.value, height if order == "morf" else 1 - height, rtol=1e-12)
            assert (score.count, score.defined) == (12, 11)
            one_class = found.take(np.flatnonzero(found["label"] == 0))
            assert (metric.reduce(one_class).value is None) == (measure == "auroc")
        np.testing.assert_array_equal(
            found["margin"][kept] > 0, found["right"][kept] == (np.array(labels) == 1)[:, None, None]
        )
    three = make(measure="auroc", shares=(0.5,))
    evaluated, known = setup(table_scene(6), Diary())
    prepared = three.prepare(Trial(known, numbers(73, 24, 10)))
    with pytest.raises(NotApplicable, match="two classes"):
        three(Trial(evaluated, numbers(74, 6, 10), {}, prepared))


def _of_two_classes(where: Scene) -> Scene:
    """Class 2 becomes class 0; the recipe's models have two classes."""
    recipe = where.setting.recipe
    assert recipe is not None
    label = where.samples.label % 2
    two = replace(recipe, train=lambda x, label, seed: _without_third(recipe.train(x, torch.arange(24) % 3, seed)))
    return replace(where, setting=replace(where.setting, recipe=two), samples=replace(where.samples, label=label))


def _without_third(model: Any) -> nn.Module:
    return Centroids(model.centres[:2], model.weights[:2])


def _gone(metric: Any, one: Tensor | None = None) -> np.ndarray:
    """Which of seven features were removed from the rows that were trained on."""
    diary = Diary()
    _, known = setup(table_scene(3), diary)
    maps = torch.ones(24, 7) if one is None else one.expand(24, 7)
    metric.prepare(Trial(known, maps.double()))
    changed = (diary.rows[0] != known.samples.x).numpy()
    return np.stack([changed[:, mask].all(axis=1) for mask in members(known.setting.features)], axis=1)


def _check_what_is_missing(make: Make) -> None:
    evaluated, _ = setup(table_scene(3), Diary())
    bare = replace(evaluated, setting=replace(evaluated.setting, recipe=None))
    for where, word in ((evaluated, "reference rows"), (bare, "recipe")):
        with pytest.raises(NotApplicable, match=word):
            make()(Trial(where, numbers(1, 3, 10)))
