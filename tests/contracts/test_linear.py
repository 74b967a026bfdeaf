"""Every metric keeps its promises on linear models, and these are what they claim to be."""

from __future__ import annotations

import json
import re

import pytest
import torch

from assay.catalogue.build import build
from assay.catalogue.registry import resolve
from assay.check.contracts.fault import check_contract, examine
from assay.check.contracts.metrics import ON_LINEAR_MODELS, constant_maps
from assay.check.linear import maps
from assay.check.linear.exact_is_best import best_on_linear, exact_on_linear
from assay.check.linear.linear_case import LinearCase
from assay.check.linear.linear_models import LinearProblem, linear_problems
from assay.check.linear.metric_calls import TrialMetricCall
from assay.core.spec import Spec
from contracts import honest_linear, planted_linear
from contracts.examples import specs


def case(spec: str) -> LinearCase:
    return LinearCase.of(spec, build("metrics", resolve("metrics", Spec.parse(spec))), {})


@pytest.mark.parametrize("spec", specs("metrics"))
def test_a_metric_keeps_its_promises_on_linear_models(spec: str) -> None:
    faults = examine(case(spec), ON_LINEAR_MODELS)
    assert not faults, "\n".join(map(str, faults))


def test_what_is_declared_is_tried() -> None:
    metric = case("sensitivity_n(sizes=4, sets=8)")
    status = {contract.__name__: check_contract(metric, contract).status for contract in ON_LINEAR_MODELS}
    declared = ("exact_on_linear", "best_on_linear", "direction", "invariances")
    assert [status[name] for name in declared] == ["pass"] * 4


def test_a_promise_that_a_parameter_breaks_is_not_made() -> None:
    assert case("deletion").promises.best
    assert not case("deletion(absolute=True)").promises.best
    assert not case("deletion(canvas=0.5)").promises.best  # exact attributions are about a baseline of zeros
    assert case("sensitivity_n").promises.ideal == 1.0
    assert case("sensitivity_n(canvas=0.5)").promises.ideal is None


every_problem = pytest.mark.parametrize("problem", linear_problems(), ids=lambda problem: problem.name)


@every_problem
def test_the_exact_attribution_adds_up_to_the_answer_minus_that_to_zeros(problem: LinearProblem) -> None:
    answers, nothing = (problem.model()(x).gather(1, problem.y[:, None])[:, 0] for x in (problem.x, 0 * problem.x))
    total = problem.exact.double().flatten(1).sum(dim=1)
    assert torch.allclose(total, (answers - nothing).double(), rtol=1e-5)
    assert bool(problem.bias) == bool(nothing.any())


@every_problem
def test_the_explained_class_wins_except_for_losing_samples(problem: LinearProblem) -> None:
    wins = problem.model()(problem.x).argmax(dim=1) == problem.y
    assert wins.tolist() == [not losing for losing in problem.losing]
    assert torch.equal(problem.exact.flatten(1).sum(dim=1) > 0, wins)


@every_problem
def test_removing_a_feature_lowers_the_answer_by_its_attribution(problem: LinearProblem) -> None:
    for feature in range(problem.exact[0].numel()):
        keep = torch.ones(problem.exact[0].numel())
        keep[feature] = 0
        without = problem.model()(problem.x * keep.view(problem.exact.shape[1:]))
        drop = (problem.model()(problem.x) - without).gather(1, problem.y[:, None])[:, 0]
        assert torch.allclose(drop, problem.exact.flatten(1)[:, feature], atol=1e-3)


@every_problem
def test_answers_about_any_subset_of_features_are_probabilities(problem: LinearProblem) -> None:
    model = TrialMetricCall(None).inputs(problem, problem.exact).model
    for part in (problem.exact > 0, problem.exact < 0):
        answers = model(problem.x * part)
        assert bool(((answers >= 0) & (answers <= 1)).all())
        assert torch.allclose(answers.sum(dim=1), torch.ones(len(problem)))


def test_the_problems_start_small_and_have_images_tables_channels_and_maps_per_pixel() -> None:
    sizes = [problem.x.numel() for problem in linear_problems()]
    assert sizes == sorted(sizes)
    assert linear_problems()[0].x.shape == (1, 2)
    shapes = {(tuple(problem.weights.shape), problem.per_pixel) for problem in linear_problems()}
    assert shapes >= {((1, 2, 2), False), ((1, 4, 4), False), ((3, 4, 4), False), ((3, 4, 4), True), ((1, 8, 8), False)}
    assert shapes >= {((1, 2, 3), False), ((3, 2, 4), False), ((3, 2, 4), True), ((300,), False)}


@pytest.mark.parametrize("kind", ["image", "table"])
def test_both_kinds_have_a_bias_losers_and_samples_of_both_classes_in_odd_numbers(kind: str) -> None:
    problems = [problem for problem in linear_problems() if problem.kind == kind]
    assert any(problem.bias and set(problem.y.tolist()) == {0, 1} for problem in problems)
    assert any(any(problem.losing) for problem in problems)
    assert any(len(problem) % 2 and set(problem.y.tolist()) == {0, 1} for problem in problems)


@every_problem
def test_some_of_the_samples_keep_their_classes_and_attributions(
    problem: LinearProblem,
) -> None:
    last = problem.rows([len(problem) - 1])
    assert torch.equal(last.y, problem.y[-1:])
    assert torch.equal(last.exact, problem.exact[-1:])


@pytest.mark.parametrize(
    ("metric", "ideal", "traits"),
    [
        (planted_linear.ExplainsTheWinner, 1.0, " of a class that does not win"),
        (planted_linear.ForgetsTheBaseline, 0.0, " of a model with a bias"),
        (planted_linear.CountsInBytes, 1.0, " of more than 256 features"),
        (planted_linear.RowsForColumns, 1.0, " of images that are not square"),
    ],
)
def test_a_missed_ideal_is_reported_with_the_traits_it_takes(metric: type, ideal: float, traits: str) -> None:
    kinds = ("image",) if metric is planted_linear.RowsForColumns else ("image", "table")
    faults = check_contract(
        planted_linear.Plant(metric, {"ideal": ideal, "kinds": kinds}).case(), exact_on_linear
    ).faults
    assert [fault.message for fault in faults] == [f"does not reach {ideal:g} for exact attributions{traits}"]


def test_a_witness_gives_bias_and_classes_where_these_are_not_the_usual_ones() -> None:
    biased = next(problem for problem in linear_problems() if problem.bias)
    losing = next(problem for problem in linear_problems() if any(problem.losing))
    assert "b = 3; " in biased.describe(None)
    assert f"y = {losing.y.tolist()}" in losing.describe(None)
    assert "y = " not in linear_problems()[0].describe(None)


def test_a_constant_map_that_scores_too_well_is_reported_with_both_scores() -> None:
    plant = planted_linear.Plant(planted_linear.EqualIsPerfect, {"ideal": 1.0})
    (fault,) = check_contract(plant.case(), constant_maps).faults
    assert fault.message == "scores a map of zeros no worse than exact attributions, which reach 1"
    assert fault.witness.endswith("attribution = [0, 0]; returned [1], and [1] for exact attributions")


class FirstClassForAll(honest_linear.Removal):
    """Right for one sample alone."""

    def __call__(self, model, x_batch, y_batch, a_batch, batch_size=64, **_):
        return super().__call__(model, x_batch, [y_batch[0]] * len(y_batch), a_batch)


def test_a_witness_has_as_few_samples_as_it_takes() -> None:
    (fault,) = check_contract(planted_linear.Plant(FirstClassForAll, {"best": True}).case(), best_on_linear).faults
    assert fault.witness.startswith("2 samples of 3 features")
    exact, other = re.findall(r"returned (\[\[.*?\]\]), and (\[\[.*?\]\]) for", fault.witness)[0]
    assert any(low < high for low, high in zip(json.loads(other), json.loads(exact), strict=True))


def test_an_overlooked_feature_is_named() -> None:
    plant = planted_linear.Plant(planted_linear.IgnoresTheLast, {"ideal": 1.0})
    (fault,) = check_contract(plant.case(), best_on_linear).faults
    assert "whatever the attribution of feature 3 " in fault.message
    assert fault.witness.startswith("4 samples of 4 features")


def test_one_number_of_a_map_is_changed_and_half_of_them_made_constant() -> None:
    exact = torch.tensor([[1.0, -4.0, 2.0]])
    assert [changed.tolist() for changed in maps.one_changed(exact, 2)] == [[[1, -4, 8]], [[1, -4, -8]], [[1, -4, 0]]]
    assert maps.half_constant(exact, -torch.ones(1, 3)).tolist() == [[-4, -4, -4]]
    assert maps.half_constant(exact, torch.zeros(1, 3)).tolist() == [[0, -4, 0]]


def test_a_monotone_change_keeps_signs_and_the_order_of_sizes_and_nothing_else() -> None:
    exact = torch.tensor([[1.0, 2.0, 3.0, -4.0, 0.0]])
    variant = maps.equivalent(exact, "monotone")["other sizes in the same order"]
    assert variant.tolist() == [pytest.approx([1.1, 100.0, 101.0, -101.1, 0.0])]


def test_misplaced_sizes_are_reversed() -> None:
    assert maps.reversed_sizes(torch.tensor([[1.0, -3.0, 2.0]])).tolist() == [[3.0, 1.0, 2.0]]


def test_all_orders_of_few_features_are_tried() -> None:
    assert sum(name.startswith("order") for name in maps.alternatives(torch.tensor([[1.0, 2.0, 3.0, 4.0]]))) == 23
