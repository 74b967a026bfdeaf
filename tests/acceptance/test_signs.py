"""Planted maps: the truth passes the faithfulness test; what has wrong signs is refuted, by a check that is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

import assay
from assay.core.query import Query
from assay.core.rng import generator
from assay.environments.color_count import ColorCount
from assay.environments.tabular_rule import TabularRule
from assay.environments.token_count import TokenCount

PLACES = [ColorCount.tiny(), TokenCount(reference=8), TabularRule.tiny()]


@dataclass(frozen=True)
class Told:
    """The truth of the samples, with the signs of a share of the features turned."""

    environment: Any
    turned: float = 0.0

    def __call__(self, query: Query) -> Tensor:
        truth = self.environment.sample(query.indices, 0).truth.of(query.question.readout)
        chance = torch.stack(
            [torch.rand(truth.shape[1:], generator=generator("turned", index)) for index in query.indices]
        )
        return truth.where(chance >= self.turned, -truth)


@pytest.mark.parametrize("environment", PLACES, ids=lambda place: type(place).__name__)
def test_the_truth_passes(environment):
    assay.assert_faithful(Told(environment), environment, n=64, strict=True)


@pytest.mark.parametrize("environment", PLACES, ids=lambda place: type(place).__name__)
@pytest.mark.parametrize("turned", [1.0, 0.5, 0.4])
def test_wrong_signs_are_refuted_by_name(environment, turned):
    with pytest.raises(AssertionError, match=r"refuted by .*sign agreement"):
        assay.assert_faithful(Told(environment, turned), environment, n=64)


@pytest.mark.parametrize("environment", PLACES, ids=lambda place: type(place).__name__)
def test_a_negated_map_is_refuted_on_positive_and_negative_truth(environment):
    with pytest.raises(AssertionError, match=r"f1, positive 0\.000.*") as caught:
        assay.assert_faithful(Told(environment, 1.0), environment, n=64)
    assert "f1, negative 0.000" in str(caught.value)


def test_overall_alone_cannot_see_signs_which_is_why_more_is_asked():
    environment = ColorCount.tiny()
    assay.assert_faithful(Told(environment, 1.0), environment, signs=False)
    with pytest.raises(AssertionError, match="refuted"):
        assay.assert_faithful(Told(environment, 1.0), environment)


def test_a_pixel_of_another_colour_leaves_the_logit_alone_and_lowers_the_probability():
    environment = ColorCount.tiny()
    truth = environment.sample(range(4), 0).truth
    assert bool((truth.of("probability") < 0).any())
    assert not bool((truth.of("logit") < 0).any())
    assert torch.equal(truth.of("logit"), truth.effect.clamp(min=0))
    both = (truth.of("margin") > 0).sum(), (truth.effect > 0).sum()
    assert both[0] == both[1]
    assert 0 < (truth.of("margin") < 0).sum() < (truth.effect < 0).sum()


@pytest.mark.parametrize("environment", [ColorCount.tiny(), TokenCount(length=15, negation=True, reference=8)])
@pytest.mark.parametrize("readout", ["logit", "margin"])
def test_effects_on_a_readout_are_what_the_network_loses_without_a_feature(environment, readout):
    """Removed one by one: for the logit exactly the effect; the margin as long as the runner-up stays the same."""
    samples = environment.sample(range(3), 0)
    setting = environment.setting(0, {})
    answers = setting.model(samples.x)
    for row, label in enumerate(samples.label.tolist()):
        rival = int(answers[row].clone().index_fill_(0, torch.tensor([label]), -torch.inf).argmax())
        effect = samples.truth.of(readout)[row]
        for place in effect.nonzero()[:12].tolist() + (effect == 0).nonzero()[:6].tolist():
            keep = torch.ones_like(effect)
            keep[tuple(place)] = 0
            kept = setting.features.expand(keep)
            without = samples.x[row] * kept + setting.background.expand_as(samples.x[row]) * (1 - kept)
            lost = answers[row] - setting.model(without[None])[0]
            drop = lost[label] - (lost[rival] if readout == "margin" else 0)
            assert float(drop) == pytest.approx(float(effect[tuple(place)]), abs=1e-3)


def test_a_method_without_negative_values_is_judged_on_positive_truth():
    environment = ColorCount.tiny()
    with pytest.raises(AssertionError, match="on positive truth"):
        assay.assert_faithful("positive(of=random_map())", environment)
    assay.assert_faithful("positive(of=input_x_gradient())", environment)
    with pytest.raises(AssertionError, match="f1, negative"):
        assay.assert_faithful("constant", environment)  # not positive by design: held to all of the truth
