"""The check of every metric, by its name: functions ``check_<metric>`` of the files ``checks_*.py`` in this folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

MODULES = sorted(path.stem for path in Path(__file__).parent.glob("checks_*.py"))

CHECKS: Mapping[str, Callable[[Any], None]] = {
    name.removeprefix("check_"): check
    for module in MODULES
    for name, check in vars(import_module(f"oracles.metrics.{module}")).items()
    if name.startswith("check_")
}
