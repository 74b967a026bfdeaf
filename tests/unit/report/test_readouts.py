"""Which number was explained and which was read."""

from __future__ import annotations

from typing import Any

import pytest

from assay.catalogue.registry import card, resolve
from assay.core.spec import Spec
from assay.report.components import Component
from assay.report.readouts import different_readouts

ASKED = {"readout": "probability", "temperature": 2.0, "baseline": "zero", "target": "label"}


def readouts(metric: str, outputs: str = "logits", **question: Any) -> tuple[str, str]:
    spec = resolve("metrics", Spec.parse(metric))
    metric_component = Component(0, metric, spec, card("metrics", spec.name).with_params(spec), {})
    trial = {"environment_question": ASKED, "question": {**ASKED, **question}, "outputs": outputs}
    return different_readouts(metric_component, trial)


@pytest.mark.parametrize("metric", ["insertion", "deletion", "sensitivity_n", "single_deletion", "infidelity"])
def test_by_default_one_number_is_explained_and_read(metric: str) -> None:
    assert readouts(metric) == ("", "")
    assert readouts(metric, baseline="true") == ("", "")
    assert readouts(metric, readout="logit") == ("logit", "probability")


@pytest.mark.parametrize(
    "metric, question, numbers",
    [
        ("insertion(readout='logit')", {"readout": "logit"}, ("", "")),
        ("insertion(readout='logit')", {"readout": "logit", "temperature": 9.0}, ("", "")),  # it divides no logit
        ("insertion(readout='value')", {"readout": "logit"}, ("", "")),  # the model answers with logits
        ("insertion(readout='margin')", {}, ("probability", "margin")),
        ("insertion", {"temperature": 1.0}, ("probability at temperature 1", "probability at temperature 2")),
        ("insertion(temperature=3.0)", {}, ("probability at temperature 2", "probability at temperature 3")),
        ("insertion(temperature=3.0)", {"temperature": 3.0}, ("", "")),
        ("insertion(by='accuracy')", {"readout": "logit"}, ("", "")),
        ("completeness", {"readout": "logit"}, ("", "")),
        ("completeness(indicator='sample')", {"readout": "logit"}, ("logit", "probability")),
        ("completeness(indicator='probability', readout='logit')", {"readout": "logit"}, ("logit", "probability")),
        ("f1", {"readout": "logit"}, ("", "")),
    ],
)
def test_two_different_numbers_are_named(metric: str, question: dict[str, Any], numbers: tuple[str, str]) -> None:
    assert readouts(metric, **question) == numbers


def test_the_value_of_a_model_is_what_it_answers_with() -> None:
    assert readouts("insertion(readout='value')", "probabilities") == ("", "")
    assert readouts("insertion(readout='value')", "logits") == ("probability", "logit")


def test_without_a_recorded_environment_question_no_readouts_are_named() -> None:
    spec = resolve("metrics", Spec.parse("insertion"))
    metric_component = Component(0, "insertion", spec, card("metrics", spec.name).with_params(spec), {})
    assert different_readouts(metric_component, {"question": {**ASKED, "readout": "logit"}}) == ("", "")
