"""All contracts of one component, wherever it can be tried."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from assay.check import environments, methods, metrics
from assay.check.environment_case import EnvironmentCase
from assay.check.fault import Fault, examine
from assay.check.method_case import MethodCase
from assay.check.metric_case import MetricCase
from assay.check.site import site, sites
from assay.core.build import build
from assay.core.registry import resolve
from assay.core.spec import Spec

CONTRACTS: dict[str, tuple[Any, ...]] = {
    "environments": environments.CONTRACTS,
    "methods": methods.CONTRACTS,
    "metrics": metrics.CONTRACTS,
}


@dataclass(frozen=True)
class Verdict:
    """What was found about a component in one place."""

    name: str
    faults: tuple[Fault, ...]
    reason: str = ""  # why the component does not apply there


def check(kind: str, spec: Spec) -> Iterator[Verdict]:
    """A verdict for every place where the component is tried, each as soon as it is there."""
    for case in cases(kind, spec):
        yield Verdict(case.name, tuple(examine(case, CONTRACTS[kind])), reason(case))


def cases(kind: str, spec: Spec) -> Iterator[Any]:
    """The component in every place: methods and metrics at all tiny sites, an environment alone.

    Of an environment without parameters the tiny instance is taken.
    """
    component = build(kind, resolve(kind, spec))
    if kind == "environments":
        tiny = not spec.params and hasattr(component, "tiny")
        yield EnvironmentCase(str(spec), component.tiny() if tiny else component)
    else:
        made = MethodCase if kind == "methods" else MetricCase
        yield from (made(str(spec), component, site(name)) for name in sites(kind))


def reason(case: Any) -> str:
    """Why the component does not apply; empty where it does, and where it stops with an error (a fault says so)."""
    try:
        return "" if isinstance(case, EnvironmentCase) else str(case.reason())
    except Exception:
        return ""
