"""Few sites stand for all: none of them could be left out, and no other one shows more."""

from __future__ import annotations

import pytest

from assay.check.instruments.sites import sites
from contracts.covering import cover, divided, traits
from contracts.examples import method_case, metric_case


def test_the_fewest_that_show_everything_are_chosen_and_of_equals_the_first() -> None:
    shown = {
        name: frozenset(letters) for name, letters in {"a": "xy", "b": "yz", "c": "xyz", "d": "w", "e": "w"}.items()
    }
    assert cover(shown) == ["c", "d"]
    assert cover({}) == []


@pytest.mark.parametrize(("kind", "spec"), [("methods", "gradient"), ("metrics", "deletion"), ("metrics", "f1")])
def test_a_component_is_shown_at_few_sites_what_all_sites_show(kind: str, spec: str) -> None:
    case_at = method_case if kind == "methods" else metric_case
    cases = [case_at(spec, place) for place in sites(kind)]
    thoroughly, briefly = divided(cases)
    seen = {trait for case in thoroughly for trait in traits(case)}
    assert {id(case) for case in [*thoroughly, *briefly]} == {id(case) for case in cases}
    assert all(traits(case) <= seen for case in briefly if not case.reason())
    assert {case.site.setting.kind for case in thoroughly} == {"image", "table", "tokens"}
    assert 3 <= len(thoroughly) < len([case for case in cases if not case.reason()])


def test_sites_with_another_kind_of_model_are_kept_where_the_component_can_tell_them_apart() -> None:
    forest, boosted = "tabular_rule(model='forest')", "tabular_rule(model='boosted')"
    chosen = {
        spec: {case.origin.name for case in divided([method_case(spec, place) for place in sites("methods")])[0]}
        for spec in ("tree_shap", "occlusion", "grad_cam", "attention_rollout")
    }
    assert chosen["tree_shap"] == {forest, boosted}  # probabilities of one, logits of the other
    assert forest in chosen["occlusion"]
    assert {"cifar", "color_count", "pixel_count"} == chosen["grad_cam"]  # normalisation; channels; one output
    assert chosen["attention_rollout"] == {"token_count"}
