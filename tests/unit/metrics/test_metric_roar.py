"""Remove and retrain: what is refused, and what does not apply."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from assay.core.errors import NotApplicable, SpecError
from assay.core.trial import Trial
from assay.metrics.roar import Roar
from oracles.metrics.checks_roar import Diary, setup
from oracles.metrics.scenes import VALUE, numbers, table_scene


@pytest.mark.parametrize("shares", [(), (-0.1, 0.5), (0.5, 1.1), (0.5, 0.1), (0.1, 0.1)])
def test_shares_ascend_from_0_to_1(shares: tuple[float, ...]) -> None:
    with pytest.raises(SpecError, match="roar: shares"):
        Roar(shares=shares)


def test_at_least_one_model_is_trained() -> None:
    with pytest.raises(SpecError, match="repeats=0"):
        Roar(repeats=0)


def test_a_regression_has_no_accuracy() -> None:
    _, known = setup(table_scene(3), Diary())
    known = replace(known, setting=replace(known.setting, outputs="value", question=VALUE), question=VALUE)
    with pytest.raises(NotApplicable, match="needs a classifier"):
        Roar().prepare(Trial(known, numbers(1, 24, 10)))


def test_a_model_without_a_finite_answer_is_undefined_there() -> None:
    evaluated, known = setup(table_scene(4), Diary())
    metric = Roar(shares=(0.0, 0.5))
    prepared = metric.prepare(Trial(known, numbers(1, 24, 10)))
    x = evaluated.samples.x.clone()
    x[2] = torch.inf
    found = metric(Trial(replace(evaluated, samples=replace(evaluated.samples, x=x)), numbers(2, 4, 10), {}, prepared))
    assert found["defined"].tolist() == [True, True, False, True]
    assert not found["value"][2]
    assert not found["curve"][2].any()


def test_maps_of_zeros_have_a_global_order_too() -> None:
    diary = Diary()
    _, known = setup(table_scene(3), diary)
    orders = Roar(shares=(0.5,), ranking="global").prepare(Trial(known, torch.zeros(24, 7).double()))["order"]
    assert sorted(orders[0].tolist()) == list(range(7))
