"""What each metric must say where the right answer is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from assay.core.errors import NotApplicable
from assay.core.evidence import mean_score
from assay.core.features import Columns
from assay.core.trial import Trial
from assay.metrics.completeness import Completeness
from assay.metrics.deletion import Deletion
from assay.metrics.modulo import ModuloDeletion
from assay.metrics.sensitivity_n import SensitivityN
from assay.metrics.signed_truth import F1, Precision, Recall
from oracles.metrics.again import LOGIT
from oracles.metrics.scenes import (
    PIXELS,
    PLAIN,
    VALUE,
    Lambda,
    image_scene,
    numbers,
    scene,
    truth_scene,
)
from streams import seeded

SOFT = [Precision, Recall, F1]
SIGNS = ["overall", "positive", "negative"]


def signed_truth(*shape: int) -> Tensor:
    return numbers(1, *shape).mul(1.5).round().clamp(-1, 1)


@pytest.mark.parametrize("metric", [kind(sign=sign) for kind in SOFT for sign in SIGNS], ids=repr)
def test_the_truth_itself_scores_one(metric: F1) -> None:
    effect = signed_truth(5, 6, 6)
    for attribution in (effect, 1000 * effect, 1e-6 * effect):
        np.testing.assert_allclose(metric(Trial(truth_scene(effect), attribution))["value"], 1, rtol=1e-12)


def test_the_wrong_sign_is_perfect_overall_and_worthless_by_sign() -> None:
    effect = signed_truth(5, 6, 6)
    trial = Trial(truth_scene(effect), -effect)
    assert F1()(trial)["value"].tolist() == [1] * 5
    assert F1(sign="positive")(trial)["value"].tolist() == F1(sign="negative")(trial)["value"].tolist() == [0] * 5


def test_a_map_over_whole_outlines_of_half_filled_patches_has_f1_of_two_thirds() -> None:
    effect = torch.zeros(1, 6, 6)
    effect[0, 1:5, 1:5] = torch.eye(2).repeat(2, 2)  # half of the outline
    outline = torch.zeros(1, 6, 6)
    outline[0, 1:5, 1:5] = 1
    trial = Trial(truth_scene(effect), outline)
    assert (Precision()(trial)["value"][0], Recall()(trial)["value"][0]) == (0.5, 1.0)
    np.testing.assert_allclose(F1()(trial)["value"], 2 / 3, rtol=1e-12)


def test_recall_rewards_every_true_feature_by_its_share_of_the_largest_attribution() -> None:
    trial = Trial(truth_scene(torch.tensor([[1.0, 1, 0, 0, 1, 0, 0]])), torch.tensor([[4.0, 2, 0, 0, 0, 2, 0]]))
    np.testing.assert_allclose(Recall()(trial)["value"], (1 + 0.5) / 3)
    np.testing.assert_allclose(Precision()(trial)["value"], 1.5 / 2)


def test_smooth_truth_needs_images() -> None:
    trial = Trial(truth_scene(torch.ones(2, 7)), torch.ones(2, 7))
    with pytest.raises(NotApplicable, match="images"):
        F1(smooth=2.0)(trial)


def test_signed_truth_is_not_for_the_modulo_metrics() -> None:
    with pytest.raises(NotApplicable, match="zeros and ones"):
        ModuloDeletion(direction="insert")(Trial(truth_scene(signed_truth(3, 6, 6)), numbers(1, 3, 6, 6)))


def test_the_exact_attribution_of_a_linear_model_is_best_of_all_orders() -> None:
    weights, x = numbers(3, 7), numbers(4, 1, 7)
    where = scene(x, Lambda(lambda x: (x @ weights)[:, None]), PLAIN, VALUE)
    best = x * weights
    for other in numbers(5, 30, 1, 7):
        for metric, sign in ((Deletion("insert", steps=7), 1), (Deletion(steps=7), -1)):
            better, worse = (metric(Trial(where, a))["value"][0] for a in (best, other))
            assert sign * better >= sign * worse - 1e-12


def test_a_model_without_a_finite_answer_leaves_the_sample_undefined() -> None:
    model = Lambda(lambda x: torch.stack([x[:, 0] / x.norm(dim=1), x[:, 1]], 1))  # 0 / 0 on a blank canvas
    where = scene(numbers(6, 2, 7), model, PLAIN)
    trial = Trial(replace(where, target=torch.zeros(2, dtype=torch.long)), numbers(7, 2, 7))
    for metric in (Deletion(direction="insert"), Deletion()):
        found = metric(trial)
        assert not found["defined"].any()
        assert not found["value"].any()
        assert not found["curve"].any()
        assert mean_score(found).value is None
    assert Deletion(direction="insert", canvas=0.5)(trial)["defined"].all()


def test_a_model_that_answers_with_probabilities_is_read_as_it_is() -> None:
    logits = image_scene(3)
    model = nn.Sequential(logits.setting.model, nn.Softmax(dim=1))
    answers = replace(logits, setting=replace(logits.setting, model=model, outputs="probabilities"))
    for metric in (Deletion(direction="insert", steps=5), SensitivityN(sizes=3, sets=4), Completeness(canvas="zero")):
        left, right = (metric(Trial(where, numbers(8, 3, 6, 6))) for where in (logits, answers))
        for name, row in left.rows.items():
            np.testing.assert_allclose(row, right[name], rtol=1e-9)


@pytest.mark.parametrize("metric", [Deletion(direction="insert"), Deletion(), SensitivityN()], ids=repr)
def test_probabilities_need_a_classifier(metric: Deletion) -> None:
    where = scene(numbers(1, 2, 7), Lambda(lambda x: x.sum(1, keepdim=True)), PLAIN, VALUE)
    with pytest.raises(NotApplicable, match="readout='value'"):
        replace(metric, readout="probability")(Trial(where, numbers(1, 2, 7)))
    assert metric(Trial(where, numbers(1, 2, 7)))["defined"].all()


@seeded()
def test_what_a_metric_reads_by_default_is_what_methods_explain_by_default() -> None:
    """On one linear layer the exact attribution of the logit is perfect, as the environment asks about it."""
    model = nn.Linear(7, 3).double()
    where = scene(numbers(3, 5, 7), model, PLAIN, LOGIT)
    exact = model.weight.detach()[where.target] * where.samples.x
    curve = SensitivityN()(Trial(where, exact))["curve"]
    np.testing.assert_allclose(curve, 1, atol=1e-9)
    other = SensitivityN(readout="probability")(Trial(where, exact))["value"]
    assert (other < 0.999).all()
    for metric in (Deletion(direction="insert"), Deletion()):
        asked = replace(metric, readout="logit")
        np.testing.assert_array_equal(metric(Trial(where, exact))["value"], asked(Trial(where, exact))["value"])


def test_an_open_temperature_is_the_environments_own() -> None:
    where = image_scene(3)
    warm = replace(where, setting=replace(where.setting, question=replace(where.question, temperature=5.0)))
    attribution = numbers(8, 3, 6, 6)
    np.testing.assert_array_equal(
        Deletion(direction="insert")(Trial(warm, attribution))["value"],
        Deletion(direction="insert", temperature=5.0)(Trial(where, attribution))["value"],
    )


@pytest.mark.parametrize("canvas", ["zero", "true", "mean", -2.0])
def test_sensitivity_is_one_for_every_size_on_a_linear_model_with_exact_attributions(canvas: str | float) -> None:
    weights, x = numbers(3, *PIXELS.entries), numbers(4, 3, *PIXELS.entries)
    where = scene(x, Lambda(lambda x: (x * weights).flatten(1).sum(1, keepdim=True)), PIXELS, VALUE)
    exact = weights * (x - where.ask(baseline=canvas).baseline)
    metric = SensitivityN(sets=20, canvas=canvas, readout="value")
    for sign in (1, -1):
        found = metric(Trial(where, sign * exact))
        assert found["curve_defined"].all()
        np.testing.assert_allclose(found["curve"], sign, rtol=1e-9)
        np.testing.assert_allclose(metric.reduce(found).value, sign, rtol=1e-9)


def test_sensitivity_sees_through_rounding_that_looks_like_an_effect() -> None:
    x = numbers(1, 2, 7).float()
    for level in (0.001, 1.0, -2e4):
        shaky = Lambda(lambda x, level=level: level * (1 + 2e-7 * x.sum(1, keepdim=True)))  # a few last bits
        where = scene(x, shaky, PLAIN, VALUE)
        metric = SensitivityN(sets=30, readout="value")
        without = metric.probe(where)["without"]
        assert (without.amax(-1) > without.amin(-1)).any()
        assert not metric(Trial(where, x))["curve_defined"].any()


def test_sensitivity_of_tiny_probabilities_is_still_defined() -> None:
    weights = numbers(3, 7)
    model = Lambda(lambda x: torch.stack([x @ weights - 400, torch.zeros(len(x)), torch.zeros(len(x))], 1))
    where = replace(scene(numbers(1, 1, 7), model, PLAIN), target=torch.zeros(1, dtype=torch.long))
    found = SensitivityN(sets=30)(Trial(where, weights * where.samples.x))
    assert found["curve_defined"].all()
    assert found["value"][0] > 0.5


def test_sensitivity_needs_two_features() -> None:
    where = scene(numbers(1, 2, 1), Lambda(lambda x: x), Columns.plain(1), VALUE)
    with pytest.raises(NotApplicable, match="two features"):
        SensitivityN(readout="value")(Trial(where, numbers(1, 2, 1)))


def test_completeness_is_about_accuracy_so_a_regression_has_none() -> None:
    where = scene(numbers(1, 2, 7), Lambda(lambda x: x.sum(1, keepdim=True)), PLAIN, VALUE)
    with pytest.raises(NotApplicable, match="classifier"):
        Completeness(canvas="zero")(Trial(where, numbers(1, 2, 7)))


def test_a_complete_map_loses_all_accuracy_and_an_empty_one_none() -> None:
    model = Lambda(lambda x: torch.stack([x[:, 0] + x[:, 1], 0.5 * torch.ones(len(x))], 1))  # 0: a feature is on
    where = scene(torch.ones(4, 7), model, PLAIN)
    none = torch.zeros(4, dtype=torch.long)
    where = replace(where, samples=replace(where.samples, label=none), target=none)
    metric = Completeness(canvas="zero")
    for columns, lost in (([0, 1], 1.0), ([0], 0.0), ([], 0.0), (list(range(7)), 0.0)):  # the last map is constant
        attribution = torch.zeros(4, 7)
        attribution[:, columns] = -3.0
        assert metric.reduce(metric(Trial(where, attribution))).value == lost
