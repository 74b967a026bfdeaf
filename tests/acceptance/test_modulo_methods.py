"""Claim A12 of AttributionLab: on the modulo network LRP, DeepSHAP and IG are as good as a method can be."""

import numpy as np
import pytest

import assay
from assay.environments.pixel_modulo import PixelModulo

COUNT = 16


@pytest.fixture(scope="module", params=[64, pytest.param(224, marks=pytest.mark.full)])
def environment(request):
    return PixelModulo(side=request.param)


def scored(environment, method):
    found = assay.attribute(environment, method, n=COUNT if environment.side == 64 else 6)
    return found, environment.remainder(found.samples).numpy() != 0


def best(found):
    white = found.samples.truth.effect.flatten(1).double().mean(dim=1).numpy()
    return 1 - white / 2, white / 2


@pytest.mark.parametrize("method", ["lrp", "deep_shap", "integrated_gradients(steps=50)"])
def test_precision_and_recall_are_one_where_there_is_something_to_explain(environment, method):
    found, told = scored(environment, method)
    assert told.any()
    for metric in ("precision", "recall"):
        np.testing.assert_allclose(found.score(metric).per_sample[told], 1, atol=1e-6)


@pytest.mark.parametrize(
    ("method", "absolute"), [("lrp", False), ("deep_shap", False), ("lrp", True), ("deep_shap", True),
                             ("integrated_gradients(steps=50)", True)],
)  # fmt: skip
def test_insertion_and_deletion_reach_the_best_possible_area(environment, method, absolute):
    found, told = scored(environment, method)
    insertion, deletion = best(found)
    areas = found.score("modulo_insertion", absolute=absolute).per_sample
    np.testing.assert_allclose(areas[told], insertion[told], atol=1e-6)
    areas = found.score("modulo_deletion", absolute=absolute).per_sample
    np.testing.assert_allclose(areas[told], deletion[told], atol=1e-6)


def test_on_label_zero_gradient_maps_are_empty_and_score_nothing():
    environment = PixelModulo(side=64, modulus=3)
    found = assay.attribute(environment, "lrp", n=COUNT)
    silent = environment.remainder(found.samples).numpy() == 0
    assert silent.any()
    assert float(found.map[silent].abs().max()) == 0
    assert not found.score("precision").per_sample[silent].any()
