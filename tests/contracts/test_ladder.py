"""Every metric keeps its promises on linear models; the ladder is what it says."""

from __future__ import annotations

import json
import re

import pytest
import torch

from assay.check import maps
from assay.check.fault import examine, find
from assay.check.judges import OwnJudge
from assay.check.ladder import CONTRACTS, constant_maps
from assay.check.ladder_case import LadderCase
from assay.check.preference import best_on_linear, exact_on_linear
from assay.check.rungs import Rung, ladder
from assay.core.build import build
from assay.core.registry import resolve
from assay.core.spec import Spec
from contracts import honest_ladder, planted_ladder
from contracts.examples import specs


def case(spec: str) -> LadderCase:
    return LadderCase.of(spec, build("metrics", resolve("metrics", Spec.parse(spec))), {})


@pytest.mark.parametrize("spec", specs("metrics"))
def test_a_metric_keeps_its_promises_on_linear_models(spec: str) -> None:
    faults = examine(case(spec), CONTRACTS)
    assert not faults, "\n".join(map(str, faults))


def test_what_is_declared_is_tried() -> None:
    tried = case("sensitivity_n(sizes=4, sets=8)")
    status = {one.__name__: find(tried, one).status for one in CONTRACTS}
    declared = ("exact_on_linear", "best_on_linear", "direction_on_linear", "invariances")
    assert [status[name] for name in declared] == ["pass"] * 4


def test_a_promise_that_a_parameter_breaks_is_not_made() -> None:
    assert case("deletion").promises.best
    assert not case("deletion(absolute=True)").promises.best
    assert not case("deletion(canvas=0.5)").promises.best  # exact attributions are about a baseline of zeros
    assert case("sensitivity_n").promises.ideal == 1.0
    assert case("sensitivity_n(canvas=0.5)").promises.ideal is None


every_rung = pytest.mark.parametrize("rung", ladder(), ids=lambda rung: rung.name)


@every_rung
def test_the_exact_attribution_adds_up_to_the_answer_beyond_that_to_zeros(rung: Rung) -> None:
    answers, nothing = (rung.model()(x).gather(1, rung.y[:, None])[:, 0] for x in (rung.x, 0 * rung.x))
    total = rung.exact.double().flatten(1).sum(dim=1)
    assert torch.allclose(total, (answers - nothing).double(), rtol=1e-5)
    assert bool(rung.bias) == bool(nothing.any())


@every_rung
def test_the_class_asked_about_wins_but_for_samples_that_say_so(rung: Rung) -> None:
    wins = rung.model()(rung.x).argmax(dim=1) == rung.y
    assert wins.tolist() == [not losing for losing in rung.losing or [False] * len(rung)]
    assert torch.equal(rung.exact.flatten(1).sum(dim=1) > 0, wins)


@every_rung
def test_every_feature_contributes_what_its_removal_takes(rung: Rung) -> None:
    for feature in range(rung.exact[0].numel()):
        keep = torch.ones(rung.exact[0].numel())
        keep[feature] = 0
        without = rung.model()(rung.x * keep.view(rung.exact.shape[1:]))
        drop = (rung.model()(rung.x) - without).gather(1, rung.y[:, None])[:, 0]
        assert torch.allclose(drop, rung.exact.flatten(1)[:, feature], atol=1e-3)


@every_rung
def test_no_subset_of_features_leaves_the_probabilities(rung: Rung) -> None:
    model = OwnJudge(None).material(rung, rung.exact).model
    for part in (rung.exact > 0, rung.exact < 0):
        answers = model(rung.x * part)
        assert bool(((answers >= 0) & (answers <= 1)).all())
        assert torch.allclose(answers.sum(dim=1), torch.ones(len(rung)))


def test_the_ladder_starts_small_and_has_images_tables_channels_and_maps_per_pixel() -> None:
    sizes = [rung.x.numel() for rung in ladder()]
    assert sizes == sorted(sizes)
    assert ladder()[0].x.shape == (1, 2)
    shapes = {(tuple(rung.weights.shape), rung.per_pixel) for rung in ladder()}
    assert shapes >= {((1, 2, 2), False), ((1, 4, 4), False), ((3, 4, 4), False), ((3, 4, 4), True), ((1, 8, 8), False)}
    assert shapes >= {((1, 2, 3), False), ((3, 2, 4), False), ((3, 2, 4), True), ((300,), False)}


@pytest.mark.parametrize("kind", ["image", "table"])
def test_both_kinds_have_a_bias_losers_and_samples_of_both_classes_in_odd_numbers(kind: str) -> None:
    rungs = [rung for rung in ladder() if rung.kind == kind]
    assert any(rung.bias and set(rung.y.tolist()) == {0, 1} for rung in rungs)
    assert any(rung.losing and any(rung.losing) for rung in rungs)
    assert any(len(rung) % 2 and set(rung.y.tolist()) == {0, 1} for rung in rungs)


@every_rung
def test_some_of_the_samples_are_asked_about_the_same_classes_with_the_same_attributions(rung: Rung) -> None:
    last = rung.rows([len(rung) - 1])
    assert torch.equal(last.y, rung.y[-1:])
    assert torch.equal(last.exact, rung.exact[-1:])


@pytest.mark.parametrize(
    ("metric", "ideal", "where"),
    [
        (planted_ladder.ExplainsTheWinner, 1.0, " of a class that does not win"),
        (planted_ladder.ForgetsTheBaseline, 0.0, " of a model with a bias"),
        (planted_ladder.CountsInBytes, 1.0, " of more than 256 features"),
        (planted_ladder.RowsForColumns, 1.0, " of images that are not square"),
    ],
)
def test_a_missed_ideal_is_told_with_what_it_takes_to_miss_it(metric: type, ideal: float, where: str) -> None:
    kinds = ("image",) if metric is planted_ladder.RowsForColumns else ("image", "table")
    faults = find(planted_ladder.Plant(metric, {"ideal": ideal, "kinds": kinds}).case(), exact_on_linear).faults
    assert [fault.message for fault in faults] == [f"does not reach {ideal:g} for exact attributions{where}"]


def test_a_witness_says_what_is_asked_where_that_is_not_the_winner_of_a_model_without_a_bias() -> None:
    biased = next(rung for rung in ladder() if rung.bias)
    losing = next(rung for rung in ladder() if rung.losing)
    assert "b = 3; " in biased.told(None)
    assert f"y = {losing.y.tolist()}" in losing.told(None)
    assert "y = " not in ladder()[0].told(None)


def test_a_liking_for_constant_maps_is_told_with_both_scores() -> None:
    plant = planted_ladder.Plant(planted_ladder.EqualIsPerfect, {"ideal": 1.0})
    (fault,) = find(plant.case(), constant_maps).faults
    assert fault.message == "likes a map of zeros no less than exact attributions, which reach 1"
    assert fault.witness.endswith("attribution = [0, 0]; returned [1], and [1] for exact attributions")


class FirstClassForAll(honest_ladder.Removal):
    """One sample alone is judged well."""

    def __call__(self, model, x_batch, y_batch, a_batch, batch_size=64, **_):
        return super().__call__(model, x_batch, [y_batch[0]] * len(y_batch), a_batch)


def test_a_witness_has_the_samples_that_it_takes() -> None:
    (fault,) = find(planted_ladder.Plant(FirstClassForAll, {"best": True}).case(), best_on_linear).faults
    assert fault.witness.startswith("2 samples of 3 features")
    exact, other = re.findall(r"returned (\[\[.*?\]\]), and (\[\[.*?\]\]) for", fault.witness)[0]
    assert any(one < two for one, two in zip(json.loads(other), json.loads(exact), strict=True))


def test_an_unseen_feature_is_named() -> None:
    plant = planted_ladder.Plant(planted_ladder.IgnoresTheLast, {"ideal": 1.0})
    (fault,) = find(plant.case(), best_on_linear).faults
    assert "whatever the attribution of feature 3 " in fault.message
    assert fault.witness.startswith("4 samples of 4 features")


def test_one_number_of_a_map_is_changed_and_half_of_them_made_constant() -> None:
    exact = torch.tensor([[1.0, -4.0, 2.0]])
    assert [other.tolist() for other in maps.one_changed(exact, 2)] == [[[1, -4, 8]], [[1, -4, -8]], [[1, -4, 0]]]
    assert maps.half_constant(exact, -torch.ones(1, 3)).tolist() == [[-4, -4, -4]]
    assert maps.half_constant(exact, torch.zeros(1, 3)).tolist() == [[0, -4, 0]]


def test_a_monotone_change_keeps_signs_and_the_order_of_sizes_and_nothing_else() -> None:
    exact = torch.tensor([[1.0, 2.0, 3.0, -4.0, 0.0]])
    changed = maps.changed(exact, "monotone")["other sizes in the same order"]
    assert changed.tolist() == [pytest.approx([1.1, 100.0, 101.0, -101.1, 0.0])]


def test_misplaced_sizes_are_reversed() -> None:
    assert maps.misplaced(torch.tensor([[1.0, -3.0, 2.0]])).tolist() == [[3.0, 1.0, 2.0]]


def test_all_orders_of_few_features_are_tried() -> None:
    assert sum(name.startswith("order") for name in maps.others(torch.tensor([[1.0, 2.0, 3.0, 4.0]]))) == 23
