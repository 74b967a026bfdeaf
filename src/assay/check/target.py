"""All contracts of one component, wherever it can be tried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from assay.check import environments, ladder, methods, metrics
from assay.check.environment_case import EnvironmentCase
from assay.check.fault import Fault, Finding, find
from assay.check.ladder_case import LadderCase
from assay.check.method_case import MethodCase
from assay.check.metric_case import MetricCase
from assay.check.site import site, sites
from assay.core.build import build
from assay.core.foreign import load
from assay.core.foreign_metrics import ForeignMetric
from assay.core.registry import card, resolve
from assay.core.spec import Spec

CONTRACTS: dict[str, tuple[Any, ...]] = {
    "environments": environments.CONTRACTS,
    "methods": methods.CONTRACTS,
    "metrics": metrics.CONTRACTS,
    "ladder": ladder.CONTRACTS,
}


@dataclass(frozen=True)
class Verdict:
    """What was found about a component in one place."""

    name: str
    findings: tuple[Finding, ...]
    reason: str = ""  # why the component does not apply there
    ladder: bool = False  # the place is the ladder of linear models

    @property
    def faults(self) -> tuple[Fault, ...]:
        return tuple(fault for finding in self.findings for fault in finding.faults)


def check(
    kind: str, spec: Spec, promises: Mapping[str, Any] = MappingProxyType({}), skip: Sequence[str] = ()
) -> Iterator[Verdict]:
    """A verdict for every place where the component is tried, each as soon as it is there.

    ``promises`` of a metric (fields of ``Promises``) replace what it declares; contracts in ``skip`` are left out.
    """
    for case in cases(kind, spec, promises):
        contracts = CONTRACTS["ladder" if isinstance(case, LadderCase) else kind]
        findings = tuple(_left_out(one) if one.__name__ in skip else find(case, one) for one in contracts)
        yield Verdict(case.name, findings, reason(case), isinstance(case, LadderCase))


def _left_out(contract: Any) -> Finding:
    return Finding(contract.__name__, contract.__doc__.partition("\n")[0], reason="left out with --skip")


def names(kind: str) -> tuple[str, ...]:
    """The contracts of a kind of component."""
    of_kind = (*CONTRACTS[kind], *(CONTRACTS["ladder"] if kind == "metrics" else ()))
    return tuple(contract.__name__ for contract in of_kind)


def cases(kind: str, spec: Spec, promises: Mapping[str, Any] = MappingProxyType({})) -> Iterator[Any]:
    """The component in every place: methods and metrics at all tiny sites, metrics on the ladder, an environment alone.

    Of an environment without parameters the tiny instance is taken. Somebody else's metric with a call of its own knows
    no sites.
    """
    if kind == "environments":
        found = load(card(kind, spec.name).target)
        tiny = not spec.params and hasattr(found, "tiny")
        yield EnvironmentCase(str(spec), found.tiny() if tiny else build(kind, resolve(kind, spec)))
        return
    component = build(kind, resolve(kind, spec))
    made = MethodCase if kind == "methods" else MetricCase
    if not isinstance(component, ForeignMetric):
        yield from (made(str(spec), component, site(name)) for name in sites(kind))
    if kind == "metrics":
        yield LadderCase.of(str(spec), component, promises)


def reason(case: Any) -> str:
    """Why the component does not apply; empty where it does, and where it stops with an error (a fault says so)."""
    try:
        return "" if isinstance(case, EnvironmentCase) else str(case.reason())
    except Exception:
        return ""
