"""The check of every metric, by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from oracles.metrics import checks_model, checks_truth

CHECKS: Mapping[str, Callable[[Any], None]] = {
    name.removeprefix("check_"): check
    for module in (checks_truth, checks_model)
    for name, check in vars(module).items()
    if name.startswith("check_")
}
