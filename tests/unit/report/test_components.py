"""Components as a report names them."""

import pytest

from assay.core.registry import card, resolve
from assay.core.spec import Spec
from assay.report.components import Component


@pytest.mark.parametrize(
    "spec, drawn",
    [
        ("insertion", "score"),
        ("insertion(readout='probability')", "probability"),
        ("insertion(readout='logit')", "logit"),
        ("deletion(by='accuracy')", "accuracy"),
        ("road", "accuracy left"),
        ("road_lerf(by='probability')", "probability left"),
        ("completeness", "accuracy lost"),
        ("completeness(indicator='probability')", "probability lost"),
        ("completeness(indicator='sample', readout='logit')", "logit lost"),
        ("soundness", "soundness"),
        ("f1", "label"),
    ],
)
def test_a_curve_is_of_what_was_read_off_the_model(spec, drawn):
    asked = resolve("metrics", Spec.parse(spec))
    found = Component("metrics", 0, "label", asked, card("metrics", asked.name).to_json(), {})
    assert found.axes[1] == drawn
