"""Every metric against its slow, literal version."""

from __future__ import annotations

import pytest

from assay.core.foreign import load
from assay.core.registry import catalogue
from oracles.metrics.checks import CHECKS

METRICS = catalogue("metrics")


@pytest.mark.parametrize("name", METRICS)
def test_the_metric_says_what_the_paper_says(name: str) -> None:
    CHECKS[name](load(METRICS[name].target))


def test_every_metric_has_a_check() -> None:
    assert set(CHECKS) == set(METRICS)
