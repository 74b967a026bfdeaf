"""What metrics declare holds for every value of every switch, or the switch is declared to cost it (``varies``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from assay.check.declared import declared_invariances, keeps
from assay.check.fault import find
from assay.check.metrics import in_range
from assay.check.site import sites
from assay.core.build import build
from assay.core.foreign import load
from assay.core.registry import catalogue, resolve
from assay.core.spec import Spec
from contracts.examples import EXAMPLES, metric_case

PLACES = sorted(sites("metrics"), key=lambda place: not place.startswith("tabular_rule"))  # quick ones first


def variants(name: str) -> Iterator[Spec]:
    base = Spec.parse(EXAMPLES.get(name, name))
    hints = get_type_hints(load(catalogue("metrics")[name].target))
    plain = build("metrics", resolve("metrics", base))
    yield base
    for param in catalogue("metrics")[name].params:
        for value in _values(hints[param.name]):
            if value != getattr(plain, param.name):
                yield Spec.of(name, **{**dict(base.params), param.name: value})


def _values(hint: Any) -> list[Any]:
    if hint is bool:
        return [True, False]
    return [value for part in (hint, *get_args(hint)) if get_origin(part) is Literal for value in get_args(part)]


@pytest.mark.parametrize("name", catalogue("metrics"))
def test_no_switch_breaks_what_is_declared(name: str) -> None:
    for spec in variants(name):
        cases = (metric_case(str(spec), place) for place in PLACES)
        case = next(case for case in cases if not case.reason())
        for contract in (declared_invariances, in_range):
            assert find(case, contract).faults == ()


@pytest.mark.parametrize("name", catalogue("metrics"))
def test_what_a_switch_costs_was_promised(name: str) -> None:
    card = catalogue("metrics")[name]
    known = {*card.fact("invariant"), "range", "direction", *(["exact"] if card.fact("exact_on_linear") else [])}
    for param, _, promise in card.fact("varies", ()):
        assert param in {one.name for one in card.params}
        assert promise in known


def test_a_promise_is_lost_with_the_value_that_costs_it() -> None:
    metric = build("metrics", resolve("metrics", Spec.parse("single_deletion(transform='abs')")))
    assert not keeps(metric, "exact")
    assert keeps(metric, "scale")
    assert keeps(build("metrics", resolve("metrics", Spec.parse("single_deletion"))), "exact")
