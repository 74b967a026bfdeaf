"""Audits the installed packages: consistent, and those that we need pinned in constraints.txt. ``make audit``.

Tools that a developer installed besides are left alone.

Needs no network. Known vulnerabilities are looked up only where pip-audit is installed and reaches its service.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, distributions, requires
from importlib.util import find_spec
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
OURS = "assay-xai"
TOOLS = {"pip", "setuptools", "wheel"}  # a new environment has them
GPU = ("nvidia-", "cuda-", "triton")  # torch itself pins what its builds for GPUs need


def pinned(text: str) -> dict[str, str]:
    """Versions by name in a file of constraints."""
    pairs = (line.split("==") for line in text.splitlines() if "==" in line)
    return {canonicalize_name(name): version.strip() for name, version in pairs}


def needed(package: str, extras: tuple[str, ...] = ("dev",)) -> set[str]:
    """All that a package needs here, at every depth."""
    names: set[str] = set()
    todo = [(package, extras)]
    seen = set(todo)
    while todo:
        name, extras = todo.pop()
        try:
            requirements = [Requirement(text) for text in requires(name) or ()]
        except PackageNotFoundError:
            continue  # pip check says so
        for requirement in requirements:
            marker = requirement.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
                found = (canonicalize_name(requirement.name), tuple(sorted(requirement.extras)))
                names.add(found[0])
                if found not in seen:
                    seen.add(found)
                    todo.append(found)
    return names - {package}


def problems(installed: Mapping[str, str], pins: Mapping[str, str], wanted: set[str]) -> Iterator[str]:
    """Where what is installed is not what is pinned. Builds of one version for different machines are the same."""
    for name, version in sorted(installed.items()):
        if name.startswith(GPU):
            continue
        if name not in pins:
            if name in wanted:
                yield f"{name} {version} is installed, needed, and not in constraints.txt"
        elif Version(version).public != pins[name]:
            yield f"{name} {version} is installed, and constraints.txt pins {pins[name]}"
    for name in sorted(name for name in wanted - installed.keys() if not name.startswith(GPU)):
        yield f"{name} is needed and not installed"


def inconsistencies() -> Iterator[str]:
    done = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True)
    if done.returncode:
        yield from done.stdout.splitlines() or [done.stderr]


def vulnerabilities() -> Iterator[str]:
    """What pip-audit knows; nothing, said on standard error, where it cannot be asked."""
    if find_spec("pip_audit") is None:
        print("audit: pip-audit is not installed; known vulnerabilities are not looked up", file=sys.stderr)
        return
    command = [sys.executable, "-m", "pip_audit", "--format", "json", "--progress-spinner", "off"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        packages = json.loads(done.stdout)["dependencies"]
    except (subprocess.TimeoutExpired, ValueError, KeyError):
        print("audit: pip-audit does not reach its service; known vulnerabilities are not looked up", file=sys.stderr)
        return
    for package in packages:
        for vulnerability in package.get("vulns", ()):
            yield f"{package['name']} {package['version']}: {vulnerability['id']}"


def main() -> int:
    installed = {canonicalize_name(found.metadata["Name"]): found.version for found in distributions()}
    installed = {name: version for name, version in installed.items() if name not in TOOLS | {OURS}}
    pins = pinned((ROOT / "constraints.txt").read_text(encoding="utf-8"))
    found = [*inconsistencies(), *problems(installed, pins, needed(OURS) - TOOLS), *vulnerabilities()]
    print(
        "\n".join(
            [f"audit: {line}" for line in found] or [f"audit: {len(installed)} packages; those that we need are pinned"]
        )
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
