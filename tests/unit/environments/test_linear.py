"""Linear models with exact effects."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from assay.catalogue.build import build
from assay.catalogue.registry import resolve
from assay.core.errors import SpecError
from assay.core.spec import Spec
from assay.environments.linear import Linear

PICTURES = Linear((3, 12, 12), classes=4, read=0.5, pictures=True)


def test_gaussian_sum_labels_normal_numbers_by_the_sign_of_their_sum() -> None:
    environment = build("environments", resolve("environments", Spec.parse("gaussian_sum")))
    samples = environment.sample(range(200), 0)
    total = samples.x.double().sum(dim=1)
    assert samples.x.shape == (200, 200)
    assert torch.equal(samples.label, (total < 0).long())  # class 0 answers the sum
    assert torch.equal(samples.truth.effect, samples.x * total.sign()[:, None])
    assert abs(float(samples.x.mean())) < 0.02
    assert abs(float(samples.x.std()) - 1) < 0.02


@pytest.mark.parametrize(
    "environment",
    [Linear(), Linear((2, 4, 4), bias=0.5), Linear((12,), weights="tenths"), PICTURES],
    ids=["table", "images", "tenths", "pictures"],
)
def test_effects_add_up_to_the_answer_minus_that_to_zeros(environment: Linear) -> None:
    samples, setting = environment.sample(range(8), 3), environment.setting(3, {})
    both = (setting.model(x) for x in (samples.x, torch.zeros_like(samples.x)))
    answer, nothing = (answers.gather(1, samples.label[:, None])[:, 0] for answers in both)
    total = samples.truth.effect.flatten(1).sum(dim=1)
    torch.testing.assert_close(total, answer - nothing, rtol=1e-4, atol=1e-4)


def test_effects_on_the_margin_are_those_of_the_two_best_classes() -> None:
    samples, setting = PICTURES.sample(range(8), 0), PICTURES.setting(0, {})
    best, second = setting.model(samples.x).topk(2, dim=1).values.T
    margin = samples.truth.of("margin").flatten(1).sum(dim=1)
    torch.testing.assert_close(margin, best - second, rtol=1e-3, atol=1e-3)


def test_half_of_the_pixels_are_read_in_all_channels_and_by_all_classes() -> None:
    read = (PICTURES.class_weights(0) != 0).flatten(2)
    assert bool((read == read[0, 0]).all())
    assert PICTURES.setting(0, {}).informative == tuple(read[0, 0].nonzero().flatten().tolist())
    assert 50 < int(read[0, 0].sum()) < 94


def test_a_model_trained_on_the_reference_agrees_with_the_labels() -> None:
    setting, samples = PICTURES.setting(0, {}), PICTURES.sample(range(64), 0)
    trained = setting.recipe.train(setting.reference.x, setting.reference.label, 0)
    restored = setting.recipe.restore(setting.recipe.weights(trained))
    assert torch.equal(restored(samples.x), trained(samples.x))
    assert float((trained(samples.x).argmax(dim=1) == samples.label).float().mean()) > 0.6


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"shape": (3, 4)}, "number of columns"),
        ({"pictures": True}, "pictures have shape"),
        ({"classes": 1}, "choose 2 classes or more"),
        ({"classes": 3, "weights": "ones"}, "need weights='normal'"),
        ({"weights": "tenths", "bias": 1.0}, "would outweigh tenths"),
        ({"weights": "whole", "read": 0.5}, "inputs of their own"),
    ],
)
def test_what_cannot_be_is_refused(params: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecError, match=words):
        Linear(**params)
