"""What every attribution method promises."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from assay.check.compare import differing, same_bits, told
from assay.check.fault import Fault, Unanswered
from assay.check.method_case import PAIR, MethodCase
from assay.check.snapshot import changed, snapshot
from assay.check.surroundings import differences, reseeded, streams, switches
from assay.check.traps import spoiled
from assay.core.errors import BadAttribution, NotApplicable
from assay.core.protocols import positive_only
from assay.core.trial import check_attribution

BLOCK = tuple(range(8))


def shape(case: MethodCase) -> Iterator[Fault]:
    """The input's shape, or one number per feature: a metric can add up channels, it cannot guess what is missing."""
    query = case.query(PAIR)
    result: Any = _unless_it_stops(lambda: case.method(query))
    known = torch.nan_to_num(result) if isinstance(result, Tensor) else result
    try:
        check_attribution(known, query.x, query.setting.features)
    except BadAttribution as error:
        yield case.fault(shape, str(error))


def finite(case: MethodCase) -> Iterator[Fault]:
    """No NaN and no infinity: they would pass through every metric as if they said something."""
    rows = (~case.plain(BLOCK).isfinite().flatten(1).all(dim=1)).nonzero().flatten().tolist()
    if rows:
        yield case.fault(finite, "returned NaN or infinite values", told(rows))


def positive_as_declared(case: MethodCase) -> Iterator[Fault]:
    """A method that says ``positive_only`` has no negative values: it is judged by what speaks for the number alone."""
    if not positive_only(case.method):
        raise Unanswered("it does not say that it is never negative")
    if rows := (case.plain(BLOCK) < 0).flatten(1).any(dim=1).nonzero().flatten().tolist():
        yield case.fault(positive_as_declared, "returned negative values, and says that it never does", told(rows))


def deterministic(case: MethodCase) -> Iterator[Fault]:
    """The same question gets the same bits: a stored result stands for what would be computed again."""
    if not same_bits(case.plain(BLOCK), case.answer(BLOCK)):
        yield case.fault(deterministic, "answered the same question differently the second time")


def rows_independent(case: MethodCase) -> Iterator[Fault]:
    """A sample's attribution does not depend on its block: alone, in another order, among strangers, it is the same."""
    block = case.plain(BLOCK)
    alone = torch.cat([case.answer([row]) for row in BLOCK])
    among = case.answer([9, *reversed(BLOCK), 8, 10])[1:9].flip(0)
    for company, result in (("alone", alone), ("in another block", among)):
        if rows := differing(block, result):
            yield case.fault(rows_independent, f"answered differently for samples {company}", told(rows))


def budget(case: MethodCase) -> Iterator[Fault]:
    """1, 8 or 64 rows per model call give the same attribution: memory is no hyper-parameter."""
    case.plain(PAIR)
    block, machines = case.budgets()
    plain = case.plain(block)
    for name, machine in machines.items():
        if rows := differing(plain, case.answer(block, machine)):
            yield case.fault(budget, f"answered differently with {name}", told(rows))


def model_untouched(case: MethodCase) -> Iterator[Fault]:
    """Hooks, modes, weights and attributes are as before: the next method meets the same model."""
    before = snapshot(case.site.setting.model)
    case.plain(PAIR)
    for name in changed(before, snapshot(case.site.setting.model)):
        yield case.fault(model_untouched, "left the model changed", name)


def model_untouched_after_exception(case: MethodCase) -> Iterator[Fault]:
    """The same when a call fails half way: running out of memory must not spoil what comes next."""
    case.plain(PAIR)
    query = case.query(PAIR)
    model = case.site.setting.model
    fits = [lambda: case.query(PAIR)] if case.fits else []
    for work in [lambda: case.method(query), *fits]:
        for name, when in spoiled(model, work):
            yield case.fault(model_untouched_after_exception, f"left the model changed after {when}", name)


def input_untouched(case: MethodCase) -> Iterator[Fault]:
    """x, target, baseline and what was fitted are as before: the metric judges the input that was explained."""
    query = case.query(PAIR)
    query = replace(query, baseline=query.baseline.clone())  # an expanded view cannot be written to
    given = {"x": query.x, "target": query.target, "baseline": query.baseline, **query.fitted}
    before = {name: tensor.clone() for name, tensor in given.items()}
    _unless_it_stops(lambda: case.method(query))
    for name, tensor in given.items():
        if not same_bits(tensor, before[name]):
            yield case.fault(input_untouched, f"changed {name}")
        if tensor.requires_grad or tensor.grad is not None:
            yield case.fault(input_untouched, f"left a gradient on {name}")


def no_global_randomness(case: MethodCase) -> Iterator[Fault]:
    """Global random streams are neither used nor moved: a result depends on its question, not on what ran before."""
    with reseeded(1):
        before = streams()
        first = case.plain(BLOCK)
        moved = differences(before, streams())
    with reseeded(2):
        second = case.answer(BLOCK)
    for name in moved:
        yield case.fault(no_global_randomness, f"moved the global random stream of {name}")
    if rows := differing(first, second):
        yield case.fault(no_global_randomness, "answered differently under another global seed", told(rows))


def no_global_switches(case: MethodCase) -> Iterator[Fault]:
    """Gradient mode, number format, threads and the like are as before."""
    before = switches()
    case.plain(PAIR)
    for name in differences(before, switches()):
        yield case.fault(no_global_switches, f"left a switch of the process changed: {name}")


def answers_not_applicable(case: MethodCase) -> Iterator[Fault]:
    """A method answers, or says NotApplicable and why; also about a model without gradients. Nothing else is raised."""
    opaque = replace(case, site=case.site.opaque())
    for model, tried in (("this model", case), ("a model without gradients", opaque)):
        try:
            tried.method(tried.query(PAIR))
        except NotApplicable as error:
            if not str(error).strip():
                yield case.fault(answers_not_applicable, f"does not apply to {model} and gives no reason")
        except Exception as error:
            what = f"{type(error).__name__}: {error}"
            yield case.fault(answers_not_applicable, f"raised {what} at {model}, not NotApplicable")


def _unless_it_stops(call: Callable[[], Any]) -> Any:
    """What the call returns; Unanswered where it raises something else than NotApplicable."""
    try:
        return call()
    except NotApplicable:
        raise
    except Exception as error:
        raise Unanswered from error


CONTRACTS = (
    shape,
    finite,
    positive_as_declared,
    deterministic,
    rows_independent,
    budget,
    model_untouched,
    model_untouched_after_exception,
    input_untouched,
    no_global_randomness,
    no_global_switches,
    answers_not_applicable,
)
