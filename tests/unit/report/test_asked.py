"""Which number was explained, and which was read."""

from __future__ import annotations

from typing import Any

import pytest

from assay.core.registry import card, resolve
from assay.core.spec import Spec
from assay.report.asked import two_numbers
from assay.report.components import Component

ASKED = {"readout": "probability", "temperature": 2.0, "baseline": "zero", "target": "label"}


def found(metric: str, outputs: str = "logits", **question: Any) -> tuple[str, str]:
    spec = resolve("metrics", Spec.parse(metric))
    judge = Component("metrics", 0, metric, spec, card("metrics", spec.name).to_json(), {})
    trial = {"environment_question": ASKED, "question": {**ASKED, **question}, "outputs": outputs}
    return two_numbers(judge, trial)


@pytest.mark.parametrize("metric", ["insertion", "deletion", "sensitivity_n", "single_deletion", "infidelity"])
def test_by_default_one_number_is_explained_and_read(metric: str) -> None:
    assert found(metric) == ("", "")
    assert found(metric, baseline="true") == ("", "")
    assert found(metric, readout="logit") == ("logit", "probability")


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
def test_two_numbers_are_told_apart(metric: str, question: dict[str, Any], numbers: tuple[str, str]) -> None:
    assert found(metric, **question) == numbers


def test_the_value_of_a_model_is_what_it_answers_with() -> None:
    assert found("insertion(readout='value')", "probabilities") == ("", "")
    assert found("insertion(readout='value')", "logits") == ("probability", "logit")


def test_a_trial_that_does_not_tell_is_not_guessed_about() -> None:
    spec = resolve("metrics", Spec.parse("insertion"))
    judge = Component("metrics", 0, "insertion", spec, card("metrics", spec.name).to_json(), {})
    assert two_numbers(judge, {"question": {**ASKED, "readout": "logit"}}) == ("", "")
