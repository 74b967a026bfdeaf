"""A certificate: which component was checked, in which version, and the result of every contract."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from typing import Any

from assay.check.target import Verdict
from assay.core.spec import Spec

RANK = {"fault": 0, "pass": 1, "not applicable": 2}


def certificate(target: str, kind: str, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """The certificate as plain values, for JSON."""
    places = [
        {"place": v.name, "faults": [asdict(fault) for fault in v.faults], "reason": v.reason, "notes": list(v.notes)}
        for v in verdicts
    ]
    return {
        "target": target,
        "kind": kind,
        "passed": not any(verdict.faults for verdict in verdicts),
        "assay": assay_version(),
        "package": package(Spec.parse(target)),
        "contracts": list(_contracts(verdicts)),
        "places": places,
    }


def assay_version() -> str:
    """The version of assay that does the checking."""
    return version("assay-xai")


def package(spec: Spec) -> dict[str, str] | None:
    """Name and version of the package that a target comes from; None if it is not an installed package."""
    module = spec.name.partition(":")[0].partition(".")[0] if spec.foreign else "assay"
    for name in packages_distributions().get(module, []):
        try:
            return {"name": name, "version": version(name)}
        except PackageNotFoundError:
            continue
    return None


def _contracts(verdicts: Sequence[Verdict]) -> Iterator[dict[str, Any]]:
    """Every contract over all places: a fault if it is broken anywhere, else a pass if it is kept anywhere."""
    findings = [finding for verdict in verdicts for finding in verdict.findings]
    for name in dict.fromkeys(finding.contract for finding in findings):
        of_contract = [finding for finding in findings if finding.contract == name]
        status = min((finding.status for finding in of_contract), key=RANK.__getitem__)
        yield {
            "contract": name,
            "promise": of_contract[0].promise,
            "status": status,
            "reason": of_contract[0].reason if status == "not applicable" else "",
            "faults": [asdict(fault) for finding in of_contract for fault in finding.faults],
        }
