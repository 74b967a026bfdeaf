"""Wrong components on purpose, by the contract that must reject them."""

from __future__ import annotations

from contracts.planted_environments import ENVIRONMENTS
from contracts.planted_methods import METHODS
from contracts.planted_metrics import METRICS

PLANTED = {"methods": METHODS, "metrics": METRICS, "environments": ENVIRONMENTS}
