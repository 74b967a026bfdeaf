"""Every metric keeps its promises on linear models; the ladder is what it says."""

from __future__ import annotations

import pytest
import torch

from assay.check import maps
from assay.check.fault import examine, find
from assay.check.judges import OwnJudge
from assay.check.ladder import CONTRACTS
from assay.check.ladder_case import LadderCase
from assay.check.rungs import Rung, ladder
from assay.core.build import build
from assay.core.registry import resolve
from assay.core.spec import Spec
from contracts.examples import specs


def case(spec: str) -> LadderCase:
    return LadderCase.of(spec, build("metrics", resolve("metrics", Spec.parse(spec))), {})


@pytest.mark.parametrize("spec", specs("metrics"))
def test_a_metric_keeps_its_promises_on_linear_models(spec: str) -> None:
    faults = examine(case(spec), CONTRACTS)
    assert not faults, "\n".join(map(str, faults))


def test_what_is_declared_is_tried() -> None:
    status = {one.__name__: find(case("sensitivity_n(sizes=4, sets=8)"), one).status for one in CONTRACTS}
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
def test_the_exact_attribution_adds_up_to_the_answer_of_the_winner(rung: Rung) -> None:
    with torch.no_grad():
        answers = rung.model()(rung.x)
    assert torch.equal(rung.y, answers.argmax(dim=1))
    total = rung.exact.double().flatten(1).sum(dim=1)
    assert torch.allclose(total, answers.amax(dim=1).double(), rtol=1e-5)
    assert bool((total > 0).all())


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


def test_a_monotone_change_keeps_signs_and_the_order_of_sizes_and_nothing_else() -> None:
    exact = torch.tensor([[1.0, 2.0, 3.0, -4.0, 0.0]])
    changed = maps.changed(exact, "monotone")["other sizes in the same order"]
    assert changed.tolist() == [pytest.approx([1.1, 100.0, 101.0, -101.1, 0.0])]


def test_misplaced_sizes_are_reversed() -> None:
    assert maps.misplaced(torch.tensor([[1.0, -3.0, 2.0]])).tolist() == [[3.0, 1.0, 2.0]]


def test_all_orders_of_few_features_are_tried() -> None:
    assert sum(name.startswith("order") for name in maps.others(torch.tensor([[1.0, 2.0, 3.0, 4.0]]))) == 23
