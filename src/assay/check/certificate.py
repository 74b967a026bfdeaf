"""A certificate: what was checked, of which version, and what became of every promise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from typing import Any

from assay.check.target import Verdict
from assay.core.spec import Spec

RANK = {"fault": 0, "pass": 1, "not applicable": 2}


def certificate(target: str, kind: str, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Plain values, for JSON."""
    places = [{"place": v.name, "faults": [asdict(fault) for fault in v.faults], "reason": v.reason} for v in verdicts]
    return {
        "target": target,
        "kind": kind,
        "passed": not any(verdict.faults for verdict in verdicts),
        "assay": ours(),
        "package": package(Spec.parse(target)),
        "contracts": list(_contracts(verdicts)),
        "places": places,
    }


def ours() -> str:
    """The version that does the checking."""
    return version("assay-xai")


def package(spec: Spec) -> dict[str, str] | None:
    """Name and version of the package that a target comes from; None where it is not an installed one."""
    module = spec.name.partition(":")[0].partition(".")[0] if spec.foreign else "assay"
    for name in packages_distributions().get(module, []):
        try:
            return {"name": name, "version": version(name)}
        except PackageNotFoundError:
            continue
    return None


def _contracts(verdicts: Sequence[Verdict]) -> Iterator[dict[str, Any]]:
    """Every contract over all places: broken where it is broken anywhere, kept where it is kept somewhere."""
    found = [finding for verdict in verdicts for finding in verdict.findings]
    for name in dict.fromkeys(finding.contract for finding in found):
        of_name = [finding for finding in found if finding.contract == name]
        status = min((finding.status for finding in of_name), key=RANK.__getitem__)
        yield {
            "contract": name,
            "promise": of_name[0].promise,
            "status": status,
            "reason": of_name[0].reason if status == "not applicable" else "",
            "faults": [asdict(fault) for finding in of_name for fault in finding.faults],
        }
