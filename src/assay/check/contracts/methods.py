"""The contracts of attribution methods."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from assay.check.contracts.fault import Fault, Unanswered
from assay.check.contracts.method_case import PAIR, MethodCase
from assay.check.instruments.compare import differing_rows, listed_samples, same_bits
from assay.check.instruments.failing_models import changes_after_failures
from assay.check.instruments.process_state import differences, reseeded, streams, switches
from assay.check.instruments.snapshot import changed_parts, snapshot
from assay.core.errors import BadAttribution, NotApplicable
from assay.core.protocols import positive_only
from assay.core.trial import check_attribution

BLOCK = tuple(range(8))
Differing = dict[str, list[int]]  # samples that are answered differently, by what was different


def shape(case: MethodCase) -> Iterator[Fault]:
    """An attribution has the input's shape or one number per feature: metrics can sum channels, not guess numbers."""
    query = case.query(PAIR)
    try:
        result: Any = case.method(query)
    except NotApplicable:
        raise
    except Exception as error:
        raise Unanswered from error
    attribution = torch.nan_to_num(result) if isinstance(result, Tensor) else result
    try:
        check_attribution(attribution, query.x, query.setting.features)
    except BadAttribution as error:
        yield case.fault(shape, str(error))


def finite(case: MethodCase) -> Iterator[Fault]:
    """No NaN and no infinity: metrics would treat them as attributions."""
    rows = (~case.plain(BLOCK).isfinite().flatten(1).all(dim=1)).nonzero().flatten().tolist()
    if rows:
        yield case.fault(finite, "returned NaN or infinite values", listed_samples(rows))


def positive_as_declared(case: MethodCase) -> Iterator[Fault]:
    """A method that declares ``positive_only`` has no negative values: it is judged by positive effects alone."""
    if not positive_only(case.method):
        raise Unanswered("it does not declare positive_only")
    if rows := (case.plain(BLOCK) < 0).flatten(1).any(dim=1).nonzero().flatten().tolist():
        yield case.fault(
            positive_as_declared, "returned negative values, although it declares positive_only", listed_samples(rows)
        )


def deterministic(case: MethodCase) -> Iterator[Fault]:
    """The same question gets the same bits: a stored result replaces a new computation."""
    if not same_bits(case.plain(BLOCK), case.answer(BLOCK)):
        yield case.fault(deterministic, "answered the same question differently the second time")


def rows_independent(case: MethodCase) -> Iterator[Fault]:
    """A sample's attribution does not depend on its block: it is the same alone, in another order and with others."""
    for context, rows in _beyond_rounding(case, _by_block).items():
        yield case.fault(rows_independent, f"answered differently for samples {context}", listed_samples(rows))


def _by_block(case: MethodCase) -> Differing:
    block = case.plain(BLOCK)
    alone = torch.cat([case.answer([row]) for row in BLOCK])
    other_block = case.answer([9, *reversed(BLOCK), 8, 10])[1:9].flip(0)
    return {"alone": differing_rows(block, alone), "in another block": differing_rows(block, other_block)}


def budget(case: MethodCase) -> Iterator[Fault]:
    """1, 8 or 64 rows per model call give the same attribution: memory does not change results."""
    for name, rows in _beyond_rounding(case, _by_budget).items():
        yield case.fault(budget, f"answered differently with {name}", listed_samples(rows))


def _by_budget(case: MethodCase) -> Differing:
    case.plain(PAIR)
    machines = case.budgets().items()
    return {name: differing_rows(case.plain(block), case.answer(block, machine)) for name, (block, machine) in machines}


def _beyond_rounding(case: MethodCase, differences: Callable[[MethodCase], Differing]) -> Differing:
    """Differences that remain in float64: hundreds of steps of an optimisation can amplify the last digits of float32.

    All differences of a method that does not answer in float64.
    """
    found = _some(differences(case))
    try:
        return _some(differences(case.precise())) if found else found
    except Exception:
        return found


def _some(differences: Differing) -> Differing:
    return {name: rows for name, rows in differences.items() if rows}


def model_untouched(case: MethodCase) -> Iterator[Fault]:
    """The model keeps its hooks, modes, weights and attributes: the next method uses the same model."""
    case.plain(PAIR)
    before = snapshot(case.site.setting.model)
    case.answer(PAIR)
    for name in changed_parts(before, snapshot(case.site.setting.model)):
        yield case.fault(model_untouched, "left the model changed", name)


def model_untouched_after_exception(case: MethodCase) -> Iterator[Fault]:
    """The same after a call that fails half way: running out of memory must not affect later methods."""
    case.plain(PAIR)
    query = case.query(PAIR)
    model = case.site.setting.model
    fits = [lambda: case.fit(query.machine)] if case.fits else []
    for work in [lambda: case.method(query), *fits]:
        for name, when in changes_after_failures(model, work):
            yield case.fault(model_untouched_after_exception, f"left the model changed after {when}", name)


def input_untouched(case: MethodCase) -> Iterator[Fault]:
    """x, target, baseline and fitted tensors are unchanged: the metric judges the input that was explained."""
    case.plain(PAIR)
    query = case.query(PAIR)
    query = replace(query, baseline=query.baseline.clone())  # an expanded view cannot be written to
    inputs = {"x": query.x, "target": query.target, "baseline": query.baseline, **query.fitted}
    before = {name: tensor.clone() for name, tensor in inputs.items()}
    case.method(query)
    for name, tensor in inputs.items():
        if not same_bits(tensor, before[name]):
            yield case.fault(input_untouched, f"changed {name}")
        if tensor.requires_grad or tensor.grad is not None:
            yield case.fault(input_untouched, f"left a gradient on {name}")


def no_global_randomness(case: MethodCase) -> Iterator[Fault]:
    """Global random streams are neither used nor advanced: a result depends on its question, not on what ran before."""
    first = case.plain(BLOCK)
    with reseeded(1):
        before = streams()
        second = case.answer(BLOCK)
        moved = differences(before, streams())
    for name in moved:
        yield case.fault(no_global_randomness, f"moved the global random stream of {name}")
    if rows := differing_rows(first, second):
        yield case.fault(no_global_randomness, "answered differently under another global seed", listed_samples(rows))


def no_global_switches(case: MethodCase) -> Iterator[Fault]:
    """Gradient mode, number format, threads and other switches of the process are unchanged."""
    case.plain(PAIR)
    before = switches()
    case.answer(PAIR)
    for name in differences(before, switches()):
        yield case.fault(no_global_switches, f"left a switch of the process changed: {name}")


def answers_not_applicable(case: MethodCase) -> Iterator[Fault]:
    """A method answers or raises NotApplicable with a reason, also without gradients; it raises nothing else."""
    opaque = replace(case, origin=case.origin.opaque())
    for model, variant in (("this model", case), ("a model without gradients", opaque)):
        try:
            variant.method(variant.query(PAIR))
        except NotApplicable as error:
            if not str(error).strip():
                yield case.fault(answers_not_applicable, f"does not apply to {model} and gives no reason")
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            yield case.fault(answers_not_applicable, f"raised {text} at {model}, not NotApplicable")


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
