"""Every metric against its slow, literal version."""

from __future__ import annotations

from functools import partial

import pytest

from assay.core.foreign import load
from assay.core.registry import aliases, card, catalogue, expanded
from assay.core.spec import Spec
from oracles.metrics.checks import CHECKS


@pytest.mark.parametrize("name", CHECKS)
def test_the_metric_says_what_the_paper_says(name: str) -> None:
    spec = expanded("metrics", Spec(name))
    made = load(card("metrics", spec.name).target)
    CHECKS[name](partial(made, **dict(spec.params)) if spec.params else made)


def test_every_metric_and_every_alias_has_a_check() -> None:
    assert set(CHECKS) == {*catalogue("metrics"), *aliases("metrics")}
