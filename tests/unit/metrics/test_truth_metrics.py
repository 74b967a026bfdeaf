"""What the metrics against truth must say where the right answer is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from assay.core.trial import Trial
from assay.metrics.attr_share import AttrShare
from assay.metrics.modulo import ModuloSensitivityN
from assay.metrics.noise_mass import NoiseMass
from assay.metrics.pointing_game import PointingGame
from assay.metrics.ranks import PrecisionAtSupport, Spearman, TopK
from oracles.metrics.scenes import numbers, truth_scene

METRICS = [
    Spearman(),
    TopK(k=6),
    PrecisionAtSupport(),
    NoiseMass(),
    AttrShare(),
    PointingGame(),
    PointingGame(radius=1),
    ModuloSensitivityN(sizes=4, sets=30),
]
every_metric = pytest.mark.parametrize("metric", METRICS, ids=repr)


def trial() -> Trial:
    """Six of 36 pixels count in every sample; the map knows a little."""
    true = torch.zeros(5, 36)
    true.scatter_(1, numbers(1, 5, 36).argsort(dim=1)[:, :6], 1.0)
    return Trial(truth_scene(true.view(5, 6, 6)), numbers(2, 5, 6, 6).abs() + true.view(5, 6, 6))


@every_metric
def test_the_truth_is_ideal(metric: Any) -> None:
    given = trial()
    for attribution in (given.effect, 1e6 * given.effect, -1e-6 * given.effect):
        np.testing.assert_allclose(metric(replace(given, attribution=attribution))["value"], metric.ideal, atol=1e-12)


@every_metric
def test_a_map_of_zeros_is_undefined_or_no_better_than_chance(metric: Any) -> None:
    given = trial()
    found = metric(replace(given, attribution=torch.zeros(5, 6, 6)))
    expected: dict[type, tuple[bool, float]] = {  # six of 36
        TopK: (True, 1 / 6),
        PrecisionAtSupport: (True, 1 / 6),
        AttrShare: (True, 0.0),
        PointingGame: (True, 1 / 6),
    }
    defined, value = expected.get(type(metric), (False, 0.0))
    assert found["defined"].tolist() == [defined] * 5
    if metric != PointingGame(radius=1):
        np.testing.assert_allclose(found["value"], value, rtol=1e-12)


def test_stable_ties_reward_a_constant_map_where_the_first_features_count() -> None:
    true = torch.zeros(1, 20)
    true[0, :5] = torch.arange(1.0, 6.0)
    constant = Trial(truth_scene(true), torch.ones(1, 20))
    for metric in (TopK(k=5), PrecisionAtSupport()):
        assert metric(constant)["value"].tolist() == [0.25]
        assert replace(metric, ties="stable")(constant)["value"].tolist() == [1.0]


def test_top_k_beyond_the_support_counts_features_that_do_nothing() -> None:
    true = torch.tensor([[0.0, 0, 0, 0, 5, 1]])
    given = Trial(truth_scene(true), torch.tensor([[4.0, 3, 0, 0, 5, 6]]))
    assert PrecisionAtSupport()(given)["value"].tolist() == [1.0]
    assert TopK(k=4, ties="stable")(given)["value"].tolist() == [1.0]  # features 0 and 1 fill the set
    np.testing.assert_allclose(TopK(k=4)(given)["value"], (1 + 1 + 0.5 + 0.5) / 4)


def test_mass_and_share_are_two_sides_of_one_number() -> None:
    given = trial()
    np.testing.assert_allclose(NoiseMass()(given)["value"], 1 - AttrShare()(given)["value"], rtol=1e-12)
    told = replace(given, scene=replace(given.scene, setting=replace(given.scene.setting, informative=(0, 1, 2))))
    sizes = given.attribution.flatten(1).abs()
    np.testing.assert_allclose(
        NoiseMass(noise="index")(told)["value"], sizes[:, 3:].sum(dim=1) / sizes.sum(dim=1), rtol=1e-12
    )


def test_a_peak_beside_the_truth_hits_within_the_radius() -> None:
    true, attribution = torch.zeros(1, 9, 9), torch.zeros(1, 9, 9)
    true[0, 4, 4], attribution[0, 1, 8] = 1, 2.0  # three rows up, four columns to the right: five pixels away
    hits = [PointingGame(radius=radius)(Trial(truth_scene(true), attribution))["value"][0] for radius in (0, 3, 4, 5)]
    assert hits == [0, 0, 0, 1]


def test_a_sign_is_held_against_the_effects_of_that_sign() -> None:
    true = torch.tensor([[1.0, -1.0, 0.0]])
    given = Trial(truth_scene(true), torch.tensor([[1.0, 3.0, -2.0]]))
    found = {sign: PointingGame(sign=sign)(given)["value"][0] for sign in ("overall", "positive", "negative")}
    assert found == {"overall": 1, "positive": 0, "negative": 0}
