"""Every metric against its slow, literal version."""

from __future__ import annotations

from functools import partial

import pytest

from assay.catalogue.registry import aliases, card, catalogue, expand_alias
from assay.core.spec import Spec
from assay.foreign.imports import load
from oracles.metrics.checks import CHECKS


@pytest.mark.parametrize("name", CHECKS)
def test_the_metric_says_what_the_paper_says(name: str) -> None:
    spec = expand_alias("metrics", Spec(name))
    made = load(card("metrics", spec.name).target)
    CHECKS[name](partial(made, **dict(spec.params)) if spec.params else made)


def test_every_metric_and_every_alias_has_a_check() -> None:
    assert set(CHECKS) == {*catalogue("metrics"), *aliases("metrics")}
