"""Checks of the metrics that rank a map and hold it against the truth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.evidence import Evidence
from assay.core.trial import Scene, Trial
from oracles.metrics import literal_truth
from oracles.metrics.correct_samples import correct_samples_only
from oracles.metrics.refusals import refuses
from oracles.metrics.scenes import BLOCKS, image_scene, numbers, table_scene, truth_scene

Make = Callable[..., Callable[[Trial], Evidence]]
TIES = ("stable", "random")


def effects(columns: int) -> Tensor:
    """Truths (8, P): graded (2), with ties, sparse, one effect, none, the same everywhere, sizes that tie."""
    effect = numbers(41, 8, columns)
    effect[1] = effect[1].mul(2).round()
    effect[2, 2:] = 0
    effect[3], effect[4], effect[5] = 0, 0, 1
    effect[3, columns - 2] = -2
    effect[7] = torch.tensor([0.0, 1.0, -1.0]).repeat(columns)[:columns]
    return effect


def claims(columns: int) -> Tensor:
    """Maps (8, P): without ties, with ties, constant (2), nearly all equal, any, minute, of one sign."""
    claimed = numbers(42, 8, columns)
    claimed[1], claimed[2], claimed[6] = claimed[1].mul(1.5).round(), -0.5, claimed[6] * 1e-30
    claimed[3] = 1
    claimed[3, columns - 2] = -3
    claimed[7] = -claimed[7].abs()
    return claimed


def cases(columns: int) -> Iterator[tuple[Scene, Tensor]]:
    """Scenes and maps, in float64 and in float32, turned so that many maps meet many truths."""
    for shift in range(4):
        effect, claimed = effects(columns), claims(columns).roll(shift, dims=0)
        yield truth_scene(effect), claimed
        yield truth_scene(effect.float()), claimed.float()


def sized(values: Tensor, absolute: bool) -> list[float]:
    return (values.abs() if absolute else values).double().flatten().tolist()


def agree(found: Evidence, expected: list[float | None], name: str = "value") -> None:
    """Numbers where there are some; elsewhere 0 and, for the value, undefined."""
    numbers_ = [value or 0.0 for value in expected]
    np.testing.assert_allclose(found[name], numbers_, rtol=1e-9, atol=1e-12, err_msg=name)
    if name == "value":
        assert found["defined"].tolist() == [value is not None for value in expected]


def check_spearman(make: Make) -> None:
    for scene, claimed in cases(6):
        for params, absolute in (({}, True), ({"absolute": True}, True), ({"absolute": False}, False)):
            found = make(**params)(Trial(scene, claimed))
            pairs = [(sized(a, absolute), sized(g, absolute)) for a, g in zip(claimed, scene.effect, strict=True)]
            agree(found, [literal_truth.spearman(a, g) for a, g in pairs])
            agree(found, [literal_truth.best_spearman(tuple(g)) for _, g in pairs], "ceiling")
    _check_entries_are_added_up(make)
    correct_samples_only(make)


def check_top_k(make: Make) -> None:
    for scene, claimed in cases(6):
        for absolute in (True, False):
            for ties in TIES:
                for k in (1, 3, 5):
                    found = make(k=k, absolute=absolute, ties=ties)(Trial(scene, claimed))
                    pairs = zip(claimed, scene.effect, strict=True)
                    agree(
                        found,
                        [literal_truth.top_k(sized(a, absolute), sized(g, absolute), k, ties) for a, g in pairs],
                    )
    _check_k(make)
    _check_entries_are_added_up(make)
    correct_samples_only(make, k=4)


def _check_k(make: Make) -> None:
    """The environment's own number where none is given; a k that leaves nothing out does not apply."""
    where = truth_scene(effects(6))
    trial = Trial(where, claims(6))
    refuses(NotApplicable, "k=5", lambda: make()(trial))
    known = replace(trial, scene=replace(where, setting=replace(where.setting, informative=(0, 4))))
    same, default = make(k=2, absolute=True, ties="random")(trial), make()(known)
    np.testing.assert_array_equal(default["value"], same["value"])
    np.testing.assert_array_equal(make(k=3)(known)["value"], make(k=3)(trial)["value"])
    refuses(NotApplicable, "more than k=6", lambda: make(k=6)(trial))
    refuses(SpecError, "at least 1", lambda: make(k=0))


def check_precision_at_support(make: Make) -> None:
    for scene, claimed in cases(6):
        for absolute in (True, False):
            for ties in TIES:
                found = make(absolute=absolute, ties=ties)(Trial(scene, claimed))
                pairs = [(sized(a, absolute), sized(g, absolute)) for a, g in zip(claimed, scene.effect, strict=True)]
                agree(found, [literal_truth.precision_at_support(a, g, ties) for a, g in pairs])
        pairs = [(sized(a, True), sized(g, True)) for a, g in zip(claimed, scene.effect, strict=True)]
        agree(make()(Trial(scene, claimed)), [literal_truth.precision_at_support(a, g, "random") for a, g in pairs])
    _check_entries_are_added_up(make)
    correct_samples_only(make)


def check_pointing_game(make: Make) -> None:
    effect = torch.zeros(8, 5, 7, dtype=torch.float64)
    effect[:3] = numbers(43, 3, 5, 7).sub(1).clamp(min=0)
    effect[1] *= -1
    effect[3, 2, 3], effect[4, 0, 6], effect[4, 4, 0], effect[5, 4, 6] = 1, 1, -1, -1
    effect[7] = numbers(44, 5, 7)
    for shift in range(8):
        claimed = numbers(45 + shift, 8, 5, 7)
        claimed[shift] = claimed[shift].round()  # several peaks
        claimed[shift - 1] = -1  # nothing but peaks
        claimed[shift - 2] = -claimed[shift - 2].abs()
        for scene in (truth_scene(effect), truth_scene(effect.float())):
            _check_pointing(make, Trial(scene, claimed.to(scene.effect)))
    _check_pointing_elsewhere(make)
    _check_entries_are_added_up(make)


def _check_pointing(make: Make, trial: Trial) -> None:
    for sign, turned in (("overall", torch.abs), ("positive", torch.clone), ("negative", torch.neg)):
        for radius in (0, 1, 2, 3):
            found = make(sign=sign, radius=radius)(trial)
            pairs = zip(turned(trial.attribution).numpy(), turned(trial.effect).numpy() > 0, strict=True)
            agree(found, [literal_truth.pointing(a, g, radius) for a, g in pairs])
            if (sign, radius) == ("overall", 0):
                np.testing.assert_array_equal(make()(trial)["value"], found["value"])


def _check_pointing_elsewhere(make: Make) -> None:
    """Tables have no radius, and no radius is negative."""
    trial = Trial(truth_scene(effects(6)), claims(6))
    assert make()(trial)["defined"].tolist() == [False, True, True, True, False, False, False, True]
    refuses(NotApplicable, "images", lambda: make(radius=1)(trial))
    refuses(SpecError, "at least 0", lambda: make(radius=-1))


def _check_entries_are_added_up(make: Make) -> None:
    """A map per entry is the map of its sums per feature, also where entries cancel."""
    params = {"k": 3} if "k" in make.__dataclass_fields__ else {}  # type: ignore[attr-defined]
    table, image = numbers(46, 5, 10), numbers(47, 5, 2, 6, 6)
    effect = numbers(48, 5, 6, 6).mul(0.6).round()
    for scene, attribution in (
        (table_scene(5, features=BLOCKS, effect=effect[:, 0].repeat(1, 2)[:, :7]), table),
        (image_scene(5, effect=effect), image),
    ):
        pooled = scene.setting.features.pool(attribution)
        left, right = (make(**params)(Trial(scene, values)) for values in (attribution, pooled))
        for name, row in left.rows.items():
            np.testing.assert_array_equal(row, right[name])
