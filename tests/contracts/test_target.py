"""All contracts of one component at once: what ``assay check`` does."""

from __future__ import annotations

from assay.check.target import cases, check
from assay.core.spec import Spec


def test_a_method_is_tried_everywhere_and_says_where_it_does_not_apply() -> None:
    verdicts = list(check("methods", Spec.parse("grad_cam")))
    assert not [fault for verdict in verdicts for fault in verdict.faults]
    assert {verdict.name.rpartition(" at ")[2] for verdict in verdicts if not verdict.reason} == {
        "cifar",
        "color_count",
        "pixel_count",
        "pixel_modulo",
    }
    assert "needs a convolutional layer" in {verdict.reason for verdict in verdicts}


def test_a_wrong_method_of_another_module_is_rejected_by_name() -> None:
    verdicts = check("methods", Spec.parse("contracts.planted_methods:leaves_a_hook"))
    faults = next(verdicts).faults
    assert {fault.contract for fault in faults} == {"model_untouched"}
    assert "contracts.planted_methods:leaves_a_hook at color_count" in str(faults[0])
    assert "_forward_hooks" in str(faults[0])


def test_an_environment_without_parameters_is_tried_as_its_tiny_instance() -> None:
    (tiny,) = cases("environments", Spec.parse("pixel_modulo"))
    (large,) = cases("environments", Spec.parse("pixel_modulo(side=32, modulus=7)"))
    assert tiny.environment == type(tiny.environment).tiny()
    assert (large.environment.side, large.environment.modulus) == (32, 7)
