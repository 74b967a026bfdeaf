"""Every metric keeps its promises wherever it applies, and applies somewhere."""

from __future__ import annotations

import pytest

from assay.catalogue.build import build
from assay.catalogue.registry import aliases, catalogue, resolve
from assay.check.contracts.direction import answer_follows_truth, canvas_is_neutral
from assay.check.contracts.fault import examine
from assay.check.contracts.metric_case import MANY_INDICES
from assay.check.contracts.metrics import AT_SITES, answers, direction, finite, rows
from assay.check.instruments.sites import sites
from assay.core.facts import fact
from assay.core.spec import Spec
from contracts.covering import divided
from contracts.examples import metric_case, specs

SPECS = specs("metrics")
SITES = sites("metrics")
ONE_ANSWER = (answers, rows, finite)
NEUTRAL = "color_count(unseen=False)"  # where a blank canvas is as good as the background


def places(spec: str) -> list[str]:
    needs = fact(build("metrics", _resolved(spec)), "needs", ())
    return [place for place in sites("metrics", needs) if place != NEUTRAL]


def _resolved(text: str) -> Spec:
    return resolve("metrics", Spec.parse(text))


@pytest.mark.parametrize("spec", SPECS)
def test_a_metric_keeps_its_promises(spec: str) -> None:
    """All at sites that show it everything, those about a single answer at the others."""
    thoroughly, briefly = divided([metric_case(spec, place) for place in places(spec)])
    faults = [fault for case in thoroughly for fault in examine(case, AT_SITES)]
    faults += [fault for case in briefly for fault in examine(case, ONE_ANSWER)]
    assert not faults, "\n".join(map(str, faults))
    assert thoroughly, "applies nowhere"


@pytest.mark.full
@pytest.mark.parametrize(("spec", "place"), [(spec, place) for spec in SPECS for place in places(spec)])
def test_a_metric_keeps_all_its_promises_everywhere(spec: str, place: str) -> None:
    faults = examine(metric_case(spec, place), AT_SITES)
    assert not faults, "\n".join(map(str, faults))


@pytest.mark.parametrize("spec", SPECS)
def test_a_metric_prefers_the_truth_where_the_canvas_is_neutral(spec: str) -> None:
    case = metric_case(spec, NEUTRAL)
    assert examine(case, [direction]) == []


def test_where_metrics_that_ask_the_model_are_held_to_their_direction() -> None:
    scenes = {place: metric_case("insertion", place).scene(MANY_INDICES) for place in SITES}
    loud = [place for place, scene in scenes.items() if not canvas_is_neutral(scene)]
    assert loud == ["color_count", "cifar", "in_domain", "public_table"]  # black, or zeros, are off-colour there
    known = {place: scene for place, scene in scenes.items() if scene.samples.truth is not None}
    mute = [place for place, scene in known.items() if not answer_follows_truth(scene)]
    assert mute == ["pixel_modulo", "tabular_rule(model='forest')"]  # wraps around; five trees are coarse


def test_every_metric_is_tried_in_each_of_its_directions() -> None:
    assert {Spec.parse(spec).name for spec in SPECS} == {*catalogue("metrics"), *aliases("metrics")}
    directions = {(spec.name, fact(build("metrics", spec), "higher_is_better")) for spec in map(_resolved, SPECS)}
    for name, card in catalogue("metrics").items():
        turned = [change for _, _, change in card.fact("varies", ()) if "higher_is_better" in change]
        assert {higher for metric, higher in directions if metric == name} == (
            {True, False} if turned else {card.fact("higher_is_better")}
        )
