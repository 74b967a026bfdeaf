from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import pytest
import safetensors.torch
import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.rng import Stream
from assay.core.setting import Setting
from assay.core.trial import Scene, targets_for
from assay.environments.tabular_rule import TabularRule

TINY = TabularRule.tiny()
every_model = pytest.mark.parametrize("model", ["mlp", "attention", "forest", "boosted"])


def tiny(model: str) -> TabularRule:
    return replace(TINY, model=model)


@cache
def trained(model: str, seed: int = 0) -> Mapping[str, Tensor]:
    return tiny(model).train(seed)


def setting(model: str, seed: int = 0) -> Setting:
    return tiny(model).setting(seed, trained(model, seed))


def rule(env: TabularRule) -> Tensor:
    """W (classes, d), read off the program: the scores of the unit vectors."""
    return env.program(torch.eye(env.d), 0).T


def effect(env: TabularRule, count: int = 50) -> tuple[Tensor, Tensor, Tensor]:
    samples = env.sample(range(count), 0)
    assert samples.truth is not None
    return samples.x, samples.label, samples.truth.effect


def test_setting_a_feature_to_the_background_takes_its_effect_away_from_the_score() -> None:
    x, label, found = effect(TINY)
    background = setting("mlp").background
    assert background is not None
    for j in range(TINY.d):
        without = x.double().index_copy(1, torch.tensor([j]), background[j].double().expand(len(x), 1))
        lost = (TINY.program(x.double(), 0) - TINY.program(without, 0)).gather(1, label[:, None])[:, 0]
        torch.testing.assert_close(lost, found[:, j].double(), rtol=1e-6, atol=1e-6)


def test_effects_add_up_to_the_score_of_the_label() -> None:
    x, label, found = effect(TINY)
    torch.testing.assert_close(found.sum(dim=1), TINY.program(x, 0).gather(1, label[:, None])[:, 0])


def test_weights_have_both_signs_and_sizes_from_one_half_to_two() -> None:
    weights = rule(TabularRule(d=500, informative=400))[:, :400]
    assert 0.5 <= float(weights.abs().min()) < 0.51
    assert 1.99 < float(weights.abs().max()) <= 2.0
    assert abs(float((weights > 0).float().mean()) - 0.5) < 5 * 0.5 / 1200**0.5


def test_the_rule_depends_on_its_own_seed_only() -> None:
    assert not torch.equal(rule(TINY), rule(replace(TINY, rule_seed=1)))
    assert torch.equal(rule(TINY), rule(replace(TINY, noise=1.0, train_rows=10, model="forest")))
    fixed = replace(TINY, rule_seed=0)
    assert torch.equal(fixed.program(torch.eye(8), 0), fixed.program(torch.eye(8), 1))


def test_without_a_seed_of_its_own_the_linear_rule_follows_the_seed_in_samples_and_in_training() -> None:
    assert (TINY.draws_rule, replace(TINY, rule_seed=0).draws_rule) == (True, False)
    noiseless = replace(TINY, noise=0.0)
    for seed in (0, 1):
        reference = noiseless.setting(seed, trained("mlp")).reference
        samples = noiseless.sample(range(50), seed)
        assert reference is not None
        for x, label in ((reference.x, reference.label), (samples.x, samples.label)):
            assert torch.equal(label, noiseless.program(x, seed).argmax(dim=1))
            assert not torch.equal(label, noiseless.program(x, 1 - seed).argmax(dim=1))


def test_a_fixed_rule_0_is_the_rule_of_seed_0() -> None:
    fixed = replace(TINY, rule_seed=0)
    assert torch.equal(fixed.sample(range(4), 0).x, TINY.sample(range(4), 0).x)
    assert torch.equal(fixed.program(torch.eye(8), 7), TINY.program(torch.eye(8), 0))


def test_without_noise_the_label_is_the_class_with_the_largest_score() -> None:
    samples = replace(TINY, noise=0.0).sample(range(200), 0)
    assert torch.equal(samples.label, TINY.program(samples.x, 0).argmax(dim=1))


def test_noise_of_the_stated_size_decides_labels() -> None:
    # With two classes the label differs from the argmax when N(0, 2 noise^2) exceeds the margin.
    env = replace(TINY, classes=2, noise=0.7)
    samples = env.sample(range(4000), 0)
    scores = env.program(samples.x, 0)
    margin = (scores[:, 0] - scores[:, 1]).abs()
    expected = torch.distributions.Normal(0.0, 2**0.5 * 0.7).cdf(-margin)
    flipped = (samples.label != scores.argmax(dim=1)).float()
    error = float((expected * (1 - expected)).sum().sqrt() / 4000)
    assert abs(float(flipped.mean() - expected.mean())) < 4 * error


def test_columns_are_standard_normal_in_samples_and_in_training_rows() -> None:
    reference = replace(TINY, train_rows=4000).setting(0, trained("mlp")).reference
    assert reference is not None
    for x in (TINY.sample(range(4000), 0).x, reference.x):
        assert float(x.mean(dim=0).abs().max()) < 5 / 4000**0.5
        assert float((x.std(dim=0) - 1).abs().max()) < 5 / 8000**0.5


def test_samples_depend_on_the_data_seed_and_on_the_rule_but_not_on_the_model() -> None:
    x = TINY.sample(range(4), 0).x
    assert not torch.equal(x, TINY.sample(range(4), 1).x)
    assert not torch.equal(x, replace(TINY, rule_seed=1).sample(range(4), 0).x)
    assert torch.equal(x, tiny("forest").sample(range(4), 0).x)


@every_model
def test_the_artifact_survives_safetensors_and_the_recipe_makes_the_same_model_again(model: str) -> None:
    stored = safetensors.torch.load(safetensors.torch.save(dict(trained(model))))
    place = tiny(model).setting(0, stored)
    assert place.recipe is not None
    assert place.reference is not None
    fresh = place.recipe.train(place.reference.x, place.reference.label, 0)
    x = TINY.sample(range(100), 0).x
    assert torch.equal(place.model(x), fresh(x))
    assert not torch.equal(place.model(x), place.recipe.train(place.reference.x, place.reference.label, 1)(x))


@every_model
def test_the_recipe_learns_the_rows_it_is_given(model: str) -> None:
    place = setting(model)
    assert place.recipe is not None
    assert place.reference is not None
    ruined = place.reference.x.clone()
    ruined[:, :3] = 0.1  # what ROAR does: a constant in place of the informative columns
    label = place.reference.label
    evaluated = TINY.sample(range(500), 0)
    blind = place.recipe.train(ruined, label, 0)(evaluated.x)
    assert bool(torch.isfinite(blind).all())
    assert float((blind.argmax(dim=1) == evaluated.label).float().mean()) < 0.55


@every_model
def test_the_tiny_model_learns_the_rule(model: str) -> None:
    evaluated = TINY.sample(range(1000), 0)
    assert float(evaluated.label.bincount().max()) < 550  # always naming the largest class is not learning
    right = setting(model).model(evaluated.x).argmax(dim=1) == evaluated.label
    assert float(right.float().mean()) > 0.7


def test_the_network_takes_raw_units_and_standardises_by_the_training_rows() -> None:
    place = setting("mlp")
    assert place.reference is not None
    first = place.model.get_submodule("standardise")(place.reference.x)
    torch.testing.assert_close(first.mean(dim=0), torch.zeros(8), rtol=0, atol=1e-6)
    torch.testing.assert_close(first.std(dim=0, correction=0), torch.ones(8))
    assert not torch.equal(first, place.reference.x)


@every_model
def test_the_setting_asks_in_the_models_own_terms(model: str) -> None:
    place, samples = setting(model), TINY.sample(range(6), 0)
    target = targets_for(place, place.question, samples)
    assert torch.equal(target, place.model(samples.x).argmax(dim=1))
    query = Scene(place, samples, place.question, target, Stream("test")).ask()
    assert torch.equal(query.outputs(samples.x), place.model(samples.x))
    assert place.reference is not None
    assert torch.equal(query.baseline[0], place.reference.x.mean(dim=0))
    assert (place.kind, place.features.shape, len(place.classes)) == ("table", (8,), 3)


def test_a_forest_answers_with_probabilities_and_has_no_gradients() -> None:
    place, samples = setting("forest"), TINY.sample(range(6), 0)
    query = Scene(place, samples, place.question, samples.label, Stream("test")).ask()
    torch.testing.assert_close(query.outputs(samples.x).sum(dim=1), torch.ones(6))
    assert place.question.readout == "probability"
    with pytest.raises(NotApplicable):
        query.gradient(samples.x)


def test_boosted_trees_answer_with_scores_and_have_no_gradients() -> None:
    place, samples = setting("boosted"), TINY.sample(range(6), 0)
    query = Scene(place, samples, place.question, samples.label, Stream("test")).ask()
    probabilities = place.model.estimator.predict_proba(samples.x.numpy())  # type: ignore[operator,union-attr]
    torch.testing.assert_close(query.outputs(samples.x).softmax(dim=1), torch.from_numpy(probabilities).float())
    assert place.question.readout == "logit"
    with pytest.raises(NotApplicable):
        query.gradient(samples.x)


@every_model
def test_a_setting_can_be_asked_in_double_precision(model: str) -> None:
    place, x = tiny(model).setting(0, trained(model)).to("cpu", torch.float64), TINY.sample(range(6), 0).x
    assert place.model(x.double()).dtype == torch.float64
    torch.testing.assert_close(place.model(x.double()).float(), setting(model).model(x), rtol=1e-4, atol=1e-4)


def test_a_class_that_never_wins_in_training_still_has_its_column() -> None:
    # One informative feature and no noise: the middle weight of three never gives the largest score.
    env = replace(tiny("forest"), informative=1, noise=0.0)
    place = env.setting(0, env.train(0))
    assert place.reference is not None
    assert place.recipe is not None
    never = int((place.reference.label.bincount(minlength=3) == 0).nonzero())
    for model in (place.model, place.recipe.train(place.reference.x, place.reference.label, 1)):
        output = model(place.reference.x)
        assert output.shape == (256, 3)
        assert bool((output[:, never] == 0).all())
        assert torch.equal(output.argmax(dim=1), place.reference.label)


@pytest.mark.parametrize("wrong", [{"informative": 0}, {"informative": 9}, {"classes": 1}, {"width": 6}])
def test_impossible_sizes_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(SpecError, match=next(iter(wrong))):
        replace(TINY, **wrong)  # type: ignore[arg-type]
