"""F-Fidelity removes what deletion removes where nothing is left to chance, and ranks shuffled maps by their share."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

from assay.core.rng import Stream
from assay.core.trial import Scene, Trial
from assay.environments.in_domain import InDomain
from assay.environments.linear import Linear
from assay.methods.gradient import InputXGradient
from assay.methods.shuffled import Shuffled
from assay.metrics.deletion import Deletion
from assay.metrics.f_fidelity import FFidelity
from assay.metrics.single_deletion import SingleDeletion
from oracles.metrics.scenes import image_scene, numbers


@pytest.mark.parametrize("canvas", ["zero", "true", "blur", "rows", 0.3])
@pytest.mark.parametrize("by", ["score", "accuracy"])
def test_without_chance_the_parts_are_deletion_from_both_ends(canvas: Any, by: Any) -> None:
    """Thirty-six features in twelve steps: both ends of a curve are equal for all maps."""
    trial = Trial(image_scene(3), numbers(51, 3, 6, 6))
    plus, minus, delta = (
        FFidelity(part, alpha=1.0, beta=1.0, draws=1, sizes=11, canvas=canvas, by=by)(trial)["curve"]  # type: ignore[arg-type]
        for part in ("plus", "minus", "delta")
    )
    other = replace(trial, attribution=-trial.attribution)
    highest, lowest = (Deletion(steps=12, canvas=canvas, by=by, ties="random")(one)["curve"] for one in (trial, other))
    np.testing.assert_allclose(plus, highest[:, :1] - highest[:, 1:-1], atol=1e-12)
    np.testing.assert_allclose(minus, (lowest[:, :1] - lowest[:, 1:-1])[:, ::-1], atol=1e-12)
    np.testing.assert_allclose(delta, plus - minus, atol=1e-12)


def test_two_maps_lose_the_same_features_where_they_have_the_same_explanation() -> None:
    """Eighteen features are on top of both, each in an order of its own."""
    first = numbers(52, 3, 36)
    second = torch.where(torch.arange(36) < 18, 5 + numbers(53, 3, 36), numbers(54, 3, 36))
    first = torch.where(torch.arange(36) < 18, first.abs() + 1, first.abs() - 9)
    curves = [
        FFidelity(draws=3, sizes=11)(Trial(image_scene(3), attribution.view(3, 6, 6)))["curve"]
        for attribution in (first, second)
    ]
    equal = [bool((left == right).all()) for left, right in zip(curves[0].T, curves[1].T, strict=True)]
    assert equal == [size == 6 for size in range(1, 12)]


def test_shuffled_maps_are_ranked_by_the_share_that_is_shuffled() -> None:
    environment = Linear(shape=(3, 12, 12), classes=4, read=0.5, pictures=True)
    samples, setting = environment.sample(range(32), 0), environment.setting(0, {})
    where = Scene(setting, samples, setting.question, samples.label, Stream("metric", "f_fidelity"))
    query = replace(where.ask(), stream=Stream("method", "shuffled"))
    trials = [Trial(where, Shuffled(InputXGradient(), share)(query)) for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    for part, sign in (("delta", -1), ("plus", -1), ("minus", 1)):
        values = [sign * FFidelity(part, draws=4)(trial)["value"].mean() for trial in trials]  # type: ignore[arg-type]
        assert all(left < right for left, right in pairwise(values)), part


def test_it_judges_the_model_that_was_fine_tuned_without_features() -> None:
    environment = replace(InDomain.tiny(), masks="features")
    setting, samples = environment.setting(0, environment.train(0)), environment.sample(range(6), 0)
    attribution = numbers(55, 6, 12, 12).float()
    assert setting.sibling is not None
    values = []
    for model in (setting.model, setting.sibling):
        here = replace(setting, model=model)
        where = Scene(here, samples, here.question, samples.label, Stream("metric", "f_fidelity"))
        values.append(FFidelity(draws=2)(Trial(where, attribution))["value"])
        assert len(SingleDeletion()(Trial(where, attribution))) == 6  # beside it, on the same network
    assert (values[0] != values[1]).all()
