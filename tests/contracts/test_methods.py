"""Every method keeps its promises wherever it applies, and applies somewhere."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assay.catalogue.registry import catalogue, resolve
from assay.check.contracts.fault import examine
from assay.check.contracts.methods import CONTRACTS, answers_not_applicable, finite, positive_as_declared, shape
from assay.check.instruments.budgets import ROWS, metered
from assay.check.instruments.sites import sites
from assay.core.spec import Spec
from contracts.applicability import committed, reasons
from contracts.covering import divided
from contracts.examples import method_case, specs

SPECS = specs("methods")
SITES = sites("methods")
ONE_ANSWER = (shape, finite, positive_as_declared, answers_not_applicable)


@pytest.mark.parametrize("spec", SPECS)
def test_a_method_keeps_its_promises(spec: str) -> None:
    """All at sites that show it everything, those about a single answer at the others."""
    thoroughly, briefly = divided([method_case(spec, place) for place in SITES])
    faults = [fault for case in thoroughly for fault in examine(case, CONTRACTS)]
    faults += [fault for case in briefly for fault in examine(case, ONE_ANSWER)]
    assert not faults, "\n".join(map(str, faults))
    assert thoroughly, "applies nowhere"


@pytest.mark.full
@pytest.mark.parametrize("place", SITES)
@pytest.mark.parametrize("spec", SPECS)
def test_a_method_keeps_all_its_promises_everywhere(spec: str, place: str) -> None:
    faults = examine(method_case(spec, place), CONTRACTS)
    assert not faults, "\n".join(map(str, faults))


@pytest.mark.parametrize("method", catalogue("methods"))
def test_a_method_applies_somewhere_and_the_page_says_where(method: str) -> None:
    found = reasons(method)
    assert "" in found.values(), found
    assert committed().get(method) == found, "run 'python tests/contracts/applicability.py --write'"


def test_every_method_is_tried() -> None:
    tried = {Spec.parse(spec.format(rows="rows.npz")).name for spec in SPECS}
    assert tried == set(catalogue("methods")) == set(committed())
    for spec in SPECS:
        resolve("methods", Spec.parse(spec))  # SpecError names a parameter that needs a value in EXAMPLES


@pytest.mark.parametrize("spec", ["gradient", "occlusion", "integrated_gradients(steps=16)"])
@pytest.mark.parametrize("place", SITES[:3])
def test_calls_of_1_8_and_64_rows_are_real(spec: str, place: str) -> None:
    case = method_case(spec, place).fresh()
    budgets = case.budgets()
    assert len(budgets) == 3
    for rows, (samples, machine) in zip(ROWS, budgets.values(), strict=True):
        query = replace(case.query(samples), machine=machine)
        with metered(case.site.setting.model) as meter:
            case.method(query)
        assert rows / 2 < max(meter.calls) <= rows  # in equal parts
