"""The contracts bite: each rejects a wrong component that every other contract lets pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import assay.check
from assay.check.contracts.environment_case import EnvironmentCase
from assay.check.contracts.fault import check_contract, examine
from assay.check.contracts.method_case import MethodCase
from assay.check.contracts.metric_case import MetricCase
from assay.check.instruments.sites import site
from assay.check.target import CONTRACTS, contracts_for
from contracts.planted import PLANTED
from contracts.planted_environments import MakesLayers
from contracts.planted_linear import HONEST, Plant
from contracts.planted_methods import PLACES, amplified_rounding, honest
from contracts.planted_metrics import Answers, Hits, Probing, Undeclared

CASES = [
    (kind, contract, wrong)
    for kind, plants in PLANTED.items()
    for contract, components in plants.items()
    for wrong in components
]


def case_of(kind: str, component: Any) -> Any:
    match kind:
        case "methods":
            return MethodCase("planted", component, site(PLACES.get(component, "tabular_rule")))
        case "metrics" if isinstance(component, Plant):
            return component.case()
        case "metrics":
            return MetricCase("planted", component, site("color_count(unseen=False)"))  # where directions must hold
    return EnvironmentCase("planted", component)


def label(value: Any) -> str:
    if isinstance(value, str):
        return value
    return getattr(value, "__name__", type(value).__name__)


every_wrong_component = pytest.mark.parametrize(("kind", "contract", "wrong"), CASES, ids=label)


@every_wrong_component
def test_its_contract_rejects_it(kind: str, contract: str, wrong: Any) -> None:
    (own,) = (candidate for candidate in CONTRACTS[kind] if candidate.__name__ == contract)
    faults = check_contract(case_of(kind, wrong), own).faults
    assert faults
    assert not any("stopped with" in fault.message for fault in faults)  # rejected by a check, not by an accident


@pytest.mark.rests_on(
    sorted([*Path(__file__).parent.glob("*planted*.py"), *Path(assay.check.__path__[0]).rglob("*.py")])
)
@every_wrong_component
def test_every_other_contract_lets_it_pass(kind: str, contract: str, wrong: Any) -> None:
    case = case_of(kind, wrong)
    others = [candidate for candidate in contracts_for(kind, case) if candidate.__name__ != contract]
    faults = examine(case, others)
    assert not faults, "\n".join(map(str, faults))


@pytest.mark.parametrize("kind", PLANTED)
def test_every_contract_has_something_that_it_rejects(kind: str) -> None:
    assert set(PLANTED[kind]) == {contract.__name__ for contract in CONTRACTS[kind]}
    assert all(PLANTED[kind].values())


@pytest.mark.parametrize("component", [honest, amplified_rounding, Hits(), Answers(), Probing()], ids=label)
def test_what_the_wrong_ones_are_made_from_is_right(component: Any) -> None:
    kind = "methods" if component in (honest, amplified_rounding) else "metrics"
    case = case_of(kind, component)
    assert examine(case, contracts_for(kind, case)) == []


def test_an_environment_may_move_streams_that_it_does_not_depend_on() -> None:
    assert examine(case_of("environments", MakesLayers.tiny()), CONTRACTS["environments"]) == []


def test_a_metric_that_declares_nothing_is_held_to_nothing_declared() -> None:
    case = case_of("metrics", Undeclared())
    findings = [check_contract(case, contract) for contract in contracts_for("metrics", case)]
    assert [fault for finding in findings for fault in finding.faults] == []
    assert {finding.contract for finding in findings if finding.status != "pass"} == {
        "direction",
        "in_range",
        "invariances",
    }


@pytest.mark.parametrize("plant", HONEST, ids=label)
def test_what_the_wrong_ones_on_linear_models_are_made_from_is_right(plant: Any) -> None:
    case = plant.case()
    findings = [check_contract(case, contract) for contract in contracts_for("metrics", case)]
    assert [finding.contract for finding in findings if finding.faults] == []
    tried = {finding.contract for finding in findings if finding.status == "pass"}
    assert {"answers", "direction", "batch_size", "every_sample"} <= tried


@pytest.mark.parametrize("kind", PLANTED)
def test_every_contract_says_what_it_promises(kind: str) -> None:
    assert all(contract.__doc__ for contract in CONTRACTS[kind])
