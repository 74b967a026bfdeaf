"""A model whose logits are divided by a temperature."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

import assay
from assay.core.errors import SpecError
from assay.core.rng import Stream
from assay.core.setting import Setting
from assay.core.trial import Scene
from assay.environments.beside import Beside
from assay.environments.calibrated import Calibrated
from assay.environments.cifar import Cifar
from assay.environments.color_count import ColorCount
from assay.environments.in_domain import InDomain
from assay.environments.tabular_rule import TabularRule
from assay.metrics.top_images import TopImages

DRAWN = replace(Cifar.tiny(), epochs=1)
TUNED = InDomain(DRAWN, epochs=1, batch=32)
METHODS = ("input_x_gradient", "grad_cam", "occlusion", "smoothed(of=gradient(), samples=2)", "random_map")


@cache
def setting(temperature: float = 1.0) -> Setting:
    environment = Calibrated(TUNED, temperature)
    return environment.setting(0, environment.train(0))


def test_logits_are_divided_and_nothing_else_changes() -> None:
    inner = TUNED.setting(0, TUNED.train(0))
    samples = Calibrated(TUNED).sample(range(5), 1)
    assert torch.equal(samples.x, TUNED.sample(range(5), 1).x)
    for temperature in (0.5, 1.0, 3.0, 4.0):
        here = setting(temperature)
        assert torch.equal(here.model(samples.x), inner.model(samples.x) / temperature)
        assert here.sibling is not None
        assert torch.equal(here.sibling(samples.x), inner.model(samples.x))
        assert (here.recipe, here.forward, here.question) == (None, None, inner.question)


def test_hints_lead_to_the_same_layers_of_both_models() -> None:
    here = setting(2.0)
    assert here.hints == {"grad_cam": "network.layer3", "sibling.grad_cam": "layer3"}
    samples = TUNED.sample(range(12), 0)
    scene = Scene(here, samples, here.question, samples.label, Stream("metric", "m", "e", 0, 0))
    probe = TopImages(k=3).probe(scene)
    assert probe["own"].any()
    assert torch.equal(probe["own"], probe["other"])
    two = Calibrated(Beside(DRAWN, replace(DRAWN, network="vgg11_bn", epochs=0)))
    hints = two.setting(0, two.train(0)).hints
    assert hints == {"grad_cam": "network.layer3", "sibling.grad_cam": "layer3"}  # its sibling is the first model


def test_a_faster_forward_pass_is_divided_too() -> None:
    inner = ColorCount(side=16, sizes=(3, 6), forward="program")
    here, x = Calibrated(inner, 4.0).setting(0, {}), inner.sample(range(3), 0).x
    assert here.forward is not None
    assert torch.equal(here.forward(x), inner.setting(0, {}).forward(x) / 4)  # type: ignore[misc]
    assert torch.equal(here.model(x), inner.setting(0, {}).model(x) / 4)


@pytest.mark.parametrize("method", METHODS)
def test_a_power_of_two_scales_maps_exactly_with_the_same_random_numbers(method: str) -> None:
    maps = [assay.attribute(Calibrated(TUNED, temperature), method, n=6).map for temperature in (1.0, 2.0, 0.25)]
    scaled = method not in ("random_map",)
    assert maps[0].abs().amax() > 0
    for factor, other in zip((2.0, 0.25), maps[1:], strict=True):
        assert torch.equal(maps[0], other * (factor if scaled else 1))


def test_random_numbers_are_those_of_the_environment_itself() -> None:
    plain, around = (assay.attribute(place, "random_map", n=3).map for place in (TUNED, Calibrated(TUNED, 3.0)))
    assert torch.equal(plain, around)
    assert Calibrated(Calibrated(TUNED)).stream_name == Calibrated(TUNED).stream_name


@pytest.mark.parametrize("method", METHODS)
def test_idsds_of_logits_stays_and_the_incremental_deletion_score_does_not(method: str) -> None:
    """Sample by sample, to the last bit; of probabilities, IDSDS changes."""

    def scores(metric: str) -> list[np.ndarray]:
        maps = [assay.attribute(Calibrated(TUNED, temperature), method, n=12) for temperature in (1.0, 2.0, 0.25)]
        found = [one.score(metric).per_sample for one in maps]
        assert all(values is not None and np.unique(values).size > 1 for values in found)
        return found  # type: ignore[return-value]

    first, *others = scores("single_deletion(canvas='zero')")
    assert all(np.array_equal(first, other) for other in others)
    for metric in ("ids", "single_deletion(canvas='zero', readout='probability')"):
        first, *others = scores(metric)
        assert not any(np.array_equal(first, other) for other in others)


def test_what_has_no_temperature_is_refused() -> None:
    with pytest.raises(SpecError, match=r"temperature=0\.0 must be above 0"):
        Calibrated(DRAWN, 0.0)
    forest = replace(TabularRule.tiny(), model="forest")
    with pytest.raises(SpecError, match="a classifier that answers with logits"):
        Calibrated(forest).setting(0, forest.train(0))
