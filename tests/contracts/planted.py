"""Wrong components on purpose, by the contract that must reject them."""

from __future__ import annotations

from contracts.planted_environments import ENVIRONMENTS
from contracts.planted_linear import LINEAR
from contracts.planted_methods import METHODS
from contracts.planted_metrics import METRICS

ALL_METRICS = {name: (*METRICS.get(name, ()), *LINEAR.get(name, ())) for name in {**METRICS, **LINEAR}}
PLANTED = {"methods": METHODS, "metrics": ALL_METRICS, "environments": ENVIRONMENTS}
