"""Declarations of metrics hold for every value of every switch, unless ``varies`` declares the exception."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from assay.catalogue.annotations import fits
from assay.catalogue.build import build
from assay.catalogue.registry import aliases, catalogue, resolve
from assay.check.contracts.fault import check_contract
from assay.check.contracts.metrics import in_range, invariances
from assay.check.instruments.sites import sites
from assay.core.facts import fact
from assay.core.spec import Spec
from assay.foreign.imports import load
from contracts.examples import EXAMPLES, metric_case

PLACES = sorted(
    sites("metrics", ("parts",)), key=lambda place: not place.startswith("tabular_rule")
)  # quick ones first


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
        for contract in (invariances, in_range):
            assert check_contract(case, contract).faults == ()


@pytest.mark.parametrize("name", catalogue("metrics"))
def test_what_a_switch_costs_was_promised(name: str) -> None:
    card = catalogue("metrics")[name]
    promises = {*card.fact("invariant"), "range", "direction", *(["exact"] if card.fact("exact_on_linear") else [])}
    facts = {*dict(card.facts), "controls"}
    for param, value, change in card.fact("varies", ()):
        (switch,) = (candidate for candidate in card.params if candidate.name == param)
        assert fits(value, switch.annotation)
        assert {change} <= promises if isinstance(change, str) else set(change) <= facts


def test_a_promise_is_lost_with_the_value_that_costs_it() -> None:
    metric = build("metrics", resolve("metrics", Spec.parse("single_deletion(transform='abs')")))
    assert not fact(metric, "exact_on_linear")
    assert fact(metric, "invariant") == ("scale",)
    assert fact(build("metrics", resolve("metrics", Spec.parse("single_deletion"))), "exact_on_linear")


PARTS = ("f_fidelity_plus", "f_fidelity_minus")  # of a difference: neither end of it is the other's


@pytest.mark.parametrize("name", [name for name in aliases("metrics") if name not in PARTS])
def test_an_alias_turns_the_direction_and_the_ideal_to_the_other_end(name: str) -> None:
    """One names a part of a value instead, which has the direction of the whole."""
    spec = aliases("metrics")[name]
    card = catalogue("metrics")[spec.name]
    turned = card.with_params(spec)
    is_part = name == "f_fidelity_plus"
    assert (turned.fact("higher_is_better") is card.fact("higher_is_better")) == is_part
    ideals = {turned.fact("ideal"), card.fact("ideal")}
    assert ideals == ({1.0} if is_part else {*card.fact("range")})
    assert turned.fact("axes") != card.fact("axes")
