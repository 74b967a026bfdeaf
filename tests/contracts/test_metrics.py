"""Every metric keeps its promises wherever it applies, and applies somewhere."""

from __future__ import annotations

import pytest

from assay.check.fault import examine
from assay.check.metrics import CONTRACTS
from assay.check.site import sites
from assay.core.registry import catalogue
from assay.core.spec import Spec
from contracts.examples import metric_case, specs

SPECS = specs("metrics")
SITES = sites("metrics")


@pytest.mark.parametrize("place", SITES)
@pytest.mark.parametrize("spec", SPECS)
def test_a_metric_keeps_its_promises(spec: str, place: str) -> None:
    faults = examine(metric_case(spec, place), CONTRACTS)
    assert not faults, "\n".join(map(str, faults))


@pytest.mark.parametrize("spec", SPECS)
def test_a_metric_applies_somewhere(spec: str) -> None:
    reasons = [metric_case(spec, place).reason() for place in SITES]
    assert "" in reasons, reasons


def test_every_metric_is_tried() -> None:
    assert {Spec.parse(spec).name for spec in SPECS} == set(catalogue("metrics"))
