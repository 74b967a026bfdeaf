"""Components as a report names them."""

import pytest

from assay.catalogue.registry import card, resolve
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
    resolved = resolve("metrics", Spec.parse(spec))
    component = Component(0, "label", resolved, card("metrics", resolved.name).with_params(resolved), {})
    assert component.axes[1] == drawn
