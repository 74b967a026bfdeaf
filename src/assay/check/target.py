"""Check all contracts of one component, everywhere it can be tried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from assay.catalogue.build import build
from assay.catalogue.registry import card, expand_alias, resolve
from assay.check.contracts import environments, methods, metrics
from assay.check.contracts.environment_case import EnvironmentCase
from assay.check.contracts.fault import Fault, Finding, check_contract
from assay.check.contracts.method_case import MethodCase
from assay.check.contracts.metric_case import MetricCase
from assay.check.instruments.process_state import process_state_restored
from assay.check.instruments.sites import site, sites
from assay.check.linear.damage import notices_damage
from assay.check.linear.linear_case import LinearCase
from assay.core.facts import fact
from assay.core.spec import Spec
from assay.foreign.imports import load
from assay.foreign.metrics import ForeignMetric

CONTRACTS: dict[str, tuple[Any, ...]] = {
    "environments": environments.CONTRACTS,
    "methods": methods.CONTRACTS,
    "metrics": metrics.CONTRACTS,
}


@dataclass(frozen=True)
class Verdict:
    """The findings about a component at one site, on linear models, or of an environment."""

    name: str
    findings: tuple[Finding, ...]
    reason: str = ""  # why the component does not apply
    on_linear_models: bool = False  # True for a metric on linear models
    notes: tuple[str, ...] = ()  # what is no promise: whether a metric notices damaged maps

    @property
    def faults(self) -> tuple[Fault, ...]:
        return tuple(fault for finding in self.findings for fault in finding.faults)


def check(
    kind: str, spec: Spec, promises: Mapping[str, Any] = MappingProxyType({}), skip: Sequence[str] = ()
) -> Iterator[Verdict]:
    """Yield a verdict for every case of the component.

    ``promises`` of a metric (fields of ``Promises``) replace what it declares; contracts in ``skip`` are not tried.
    """
    for case in cases(kind, spec, promises):
        findings = tuple(
            _skipped(contract) if contract.__name__ in skip else check_contract(case, contract)
            for contract in contracts_for(kind, case)
        )
        on_linear = isinstance(case, LinearCase)
        yield Verdict(case.name, findings, reason_not_applicable(case), on_linear, notes(case) if on_linear else ())


def notes(case: LinearCase) -> tuple[str, ...]:
    """What a user wants to know about a metric although no promise is about it."""
    with process_state_restored():
        found = notices_damage(case)
    return (str(found),) if found else ()


def _skipped(contract: Any) -> Finding:
    return Finding(contract.__name__, contract.__doc__.partition("\n")[0], reason="left out with --skip")


def contracts_for(kind: str, case: Any) -> tuple[Any, ...]:
    """The contracts that are tried on a case."""
    return metrics.contracts_for(case) if kind == "metrics" else CONTRACTS[kind]


def cases(kind: str, spec: Spec, promises: Mapping[str, Any] = MappingProxyType({})) -> Iterator[Any]:
    """The component's cases: methods and metrics at all sites, metrics also on linear models, an environment by itself.

    An environment without parameters is tried as its tiny instance. A foreign metric is tried on linear models only.
    """
    if kind == "environments":
        expanded = expand_alias(kind, spec)
        environment = load(card(kind, expanded.name).target)
        tiny = not expanded.params and hasattr(environment, "tiny")
        yield EnvironmentCase(str(spec), environment.tiny() if tiny else build(kind, resolve(kind, spec)))
        return
    component = build(kind, resolve(kind, spec))
    case_type = MethodCase if kind == "methods" else MetricCase
    if not isinstance(component, ForeignMetric):
        needs = fact(component, "needs", ())
        yield from (case_type(str(spec), component, site(name)) for name in sites(kind, needs))
    if kind == "metrics":
        yield LinearCase.of(str(spec), component, promises)


def reason_not_applicable(case: Any) -> str:
    """Why the component does not apply; empty if it does, and if it raises an error (which is a fault)."""
    try:
        return "" if isinstance(case, EnvironmentCase) else str(case.reason())
    except Exception:
        return ""
