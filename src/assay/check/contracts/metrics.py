"""The contracts of metrics, at sites and on linear models.

A metric that is called with a trial is tried at sites and on linear models; one of another package, with a call of its
own, on linear models only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import torch

from assay.check.contracts import direction as at_site
from assay.check.contracts.fault import Fault
from assay.check.contracts.metric_case import FEW_INDICES, MANY_INDICES, MetricCase, noise, uninformative_maps
from assay.check.instruments.budgets import budgets, metered
from assay.check.instruments.compare import differing_evidence, listed_samples, same_bits
from assay.check.instruments.process_state import differences, reseeded, streams, switches
from assay.check.linear import contracts as on_linear
from assay.check.linear import exact_is_best, per_sample
from assay.check.linear.contracts import no_memory
from assay.check.linear.exact_is_best import best_on_linear, exact_on_linear
from assay.check.linear.linear_case import LinearCase, confirmed_one_by_one, error_text
from assay.check.linear.literal import literal
from assay.core.errors import NotApplicable
from assay.core.evidence import Evidence, merge
from assay.core.facts import fact

BLOCK = 16
EXACT = 1e-6  # relative and absolute: for sums over another set of samples
ROUNDING = (
    1e-4  # the same for other sizes of model calls: a unit in the last place of a logit of 8 is 1e-6, and changes
)
# the correlation of drops of 0.03 by 3e-5


Case = MetricCase | LinearCase


def answers(case: Case) -> Iterator[Fault]:
    """A metric answers or raises NotApplicable with a reason; it raises nothing else.

    Linear models are tables and images, of one channel and three, with maps per channel and per pixel: exact, negated
    and random ones.
    """
    for error, witness in case.errors():
        if not isinstance(error, NotApplicable):
            yield case.fault(answers, f"raised {error_text(error)}", witness)
        elif not str(error).strip():
            yield case.fault(answers, "does not apply and gives no reason", witness)


def rows(case: MetricCase) -> Iterator[Fault]:
    """Every array has one row per sample: samples are merged, resampled and compared in pairs."""
    for name, array in case.plain(FEW_INDICES).rows.items():
        if len(array) != len(FEW_INDICES):
            yield case.fault(rows, f"returned {len(array)} rows of '{name}' for {len(FEW_INDICES)} samples")


def finite(case: Case) -> Iterator[Fault]:
    """No NaN and no infinity: undefined values have ``defined`` False."""
    for _, array, witness in case.arrays():
        if not np.isfinite(array).all():
            yield case.fault(finite, "returned NaN or infinite values", witness)
            return


def blocks_merge(case: MetricCase) -> Iterator[Fault]:
    """Blocks of samples, judged one by one and merged, give the rows and the score of the whole set."""
    whole = case.plain(MANY_INDICES)
    starts = range(0, len(MANY_INDICES), BLOCK)
    blocks = merge([case.evidence(MANY_INDICES[start : start + BLOCK]) for start in starts])
    yield from _row_faults(case, blocks_merge, whole, blocks, f"blocks of {BLOCK}, merged", EXACT)
    left, right = case.reduce(whole), case.reduce(blocks)
    if not _equal(left.value, right.value) or (left.count, left.defined) != (right.count, right.defined):
        yield case.fault(blocks_merge, f"scored {left.value} on the whole set and {right.value} on merged blocks")


def batch_size(case: Case) -> Iterator[Fault]:
    """The batch size changes nothing: calls of a few samples and of all give the same numbers.

    At a site: model calls of 1, 8 or 64 rows, so that memory does not change results.
    """
    yield from _model_calls(case) if isinstance(case, MetricCase) else on_linear.batch_size(case)


def _model_calls(case: MetricCase) -> Iterator[Fault]:
    plain = case.plain(FEW_INDICES)
    footprint = case.scene(FEW_INDICES).ask().footprint  # measured before the meter runs
    with metered(case.site.setting.model) as meter:
        case.evidence(FEW_INDICES)
    for name, (_, machine) in budgets(footprint, meter.kinds).items():
        evidence = case.evidence(FEW_INDICES, machine)
        yield from _row_faults(case, batch_size, plain, evidence, name, ROUNDING)


def direction(case: Case) -> Iterator[Fault]:
    """True maps score better than random ones, and these better than wrong ones, in the direction that it declares."""
    yield from at_site.direction(case) if isinstance(case, MetricCase) else exact_is_best.direction(case)


@confirmed_one_by_one
def invariances(case: Case) -> Iterator[Fault]:
    """Declared invariances hold: the scale of a map, a shift, or everything but its order does not matter."""
    if not case.invariant:
        raise NotApplicable("declares no invariance: give --invariant scale, shift or monotone")
    for kind in case.invariant:
        if witness := next(case.variances(kind), ""):
            yield case.fault(invariances, f"declares '{kind}' and is not invariant", witness)


def in_range(case: MetricCase) -> Iterator[Fault]:
    """Values lie in the declared range for every map, whatever its signs, sizes and ties."""
    case.plain(FEW_INDICES)
    bounds = fact(case.metric, "range")
    if bounds is None:
        raise NotApplicable("declares no range, or none with these parameters")
    scene = case.scene(FEW_INDICES)
    random = noise(scene, scene.setting.features.shape)
    maps = {"random": random, "negated": -random, "huge": 1e6 * random, "minute": 1e-6 * random, "empty": 0 * random}
    low, high = bounds
    for name, attribution in maps.items():
        evidence = case.judge(scene, attribution)
        score = case.reduce(evidence).value
        values = np.append(evidence.rows.get("value", np.zeros(0)), [] if score is None else [score])
        if ((values < low) | (values > high)).any():
            actual = f"{values.min():.4g} to {values.max():.4g}"
            yield case.fault(in_range, f"left its range {low} to {high}: {actual}", f"{name} map")


def attribution_untouched(case: MetricCase) -> Iterator[Fault]:
    """The attribution and the samples are unchanged: the next metric judges the same map."""
    case.plain(FEW_INDICES)
    trial = case.trial(FEW_INDICES)
    samples = trial.scene.samples
    inputs = {"the attribution": trial.attribution, "x": samples.x, "the labels": samples.label}
    if samples.truth is not None:
        inputs["the truth"] = samples.truth.effect
    before = {name: tensor.clone() for name, tensor in inputs.items()}
    case.metric(trial)
    for name, tensor in inputs.items():
        if not same_bits(tensor, before[name]):
            yield case.fault(attribution_untouched, f"changed {name}")


def model_untouched(case: Case) -> Iterator[Fault]:
    """The model keeps its hooks, modes, weights and attributes: the next metric uses the same model."""
    for changes, witness in case.model_changes():
        if changes:
            yield case.fault(model_untouched, f"left the model changed: {', '.join(changes)}", witness)
            return


def deterministic(case: MetricCase) -> Iterator[Fault]:
    """The same trial gets bitwise the same evidence."""
    yield from _row_faults(
        case, deterministic, case.plain(FEW_INDICES), case.evidence(FEW_INDICES), "the second time", 0.0
    )


def no_global_randomness(case: MetricCase) -> Iterator[Fault]:
    """Global random streams are neither used nor advanced."""
    first = case.plain(FEW_INDICES)
    with reseeded(1):
        before = streams()
        second = case.evidence(FEW_INDICES)
        moved = differences(before, streams())
    for name in moved:
        yield case.fault(no_global_randomness, f"moved the global random stream of {name}")
    yield from _row_faults(case, no_global_randomness, first, second, "under another global seed", EXACT)


def no_global_switches(case: MetricCase) -> Iterator[Fault]:
    """Gradient mode, number format, threads and other switches of the process are unchanged."""
    case.plain(FEW_INDICES)
    before = switches()
    case.evidence(FEW_INDICES)
    for name in differences(before, switches()):
        yield case.fault(no_global_switches, f"left a switch of the process changed: {name}")


def every_sample(case: Case) -> Iterator[Fault]:
    """Every sample counts: its score is the same alone, with others and in another order.

    At a site: in another order; ``blocks_merge`` is about fewer samples.
    """
    yield from _another_order(case) if isinstance(case, MetricCase) else per_sample.every_sample(case)


def _another_order(case: MetricCase) -> Iterator[Fault]:
    plain = case.plain(FEW_INDICES)
    order = [*FEW_INDICES[3:], *FEW_INDICES[:3]]
    reordered = case.evidence(order).rows
    back = {name: array[np.argsort(order)] for name, array in reordered.items() if len(array) == len(order)}
    yield from _row_faults(case, every_sample, plain, Evidence(back), "in another order", EXACT)


def constant_maps(case: Case) -> Iterator[Fault]:
    """Constant maps get a finite number or are declared undefined; on linear models, exact ones are better."""
    yield from _undefined_is_declared(case) if isinstance(case, MetricCase) else on_linear.constant_maps(case)


def _undefined_is_declared(case: MetricCase) -> Iterator[Fault]:
    """0 where the evidence is undefined; if no sample is defined, there is no score."""
    case.plain(FEW_INDICES)
    scene = case.scene(FEW_INDICES)
    for name, attribution in uninformative_maps(scene).items():
        evidence = case.judge(scene, attribution)
        for array in ("value", "curve"):
            values = evidence.rows.get(array, np.zeros(len(FEW_INDICES)))
            if not np.isfinite(values).all() or values[~evidence.defined].any():
                yield case.fault(constant_maps, f"returned a '{array}' that is undefined and not 0", f"map of {name}")
        undefined = Evidence({**evidence.rows, "defined": np.zeros(len(FEW_INDICES), dtype=bool)}, evidence.axis)
        if (score := case.reduce(undefined)).value is not None or score.defined:
            yield case.fault(constant_maps, f"scored {score.value} where no sample is defined", f"map of {name}")


def probe_shared(case: MetricCase) -> Iterator[Fault]:
    """A probe serves every method: evidence is the same with a given probe as without, and the probe is unchanged."""
    if not hasattr(case.metric, "probe"):
        return
    case.plain(FEW_INDICES)
    trial = case.trial(FEW_INDICES)
    plain = case.metric(replace(trial, probe={}))  # the metric computes its own probe
    probe = {name: torch.from_numpy(tensor.numpy().copy()) for name, tensor in case.metric.probe(trial.scene).items()}
    before = {name: tensor.clone() for name, tensor in probe.items()}
    evidence = case.metric(replace(trial, probe=probe))
    yield from _row_faults(case, probe_shared, plain, evidence, "with a probe that was made before", EXACT)
    for name, tensor in probe.items():
        if not same_bits(tensor, before[name]):
            yield case.fault(probe_shared, f"changed the probe's '{name}', which others use after it")


def _row_faults(
    case: MetricCase, contract: Callable[..., object], left: Evidence, right: Evidence, when: str, tolerance: float
) -> Iterator[Fault]:
    for name, samples in differing_evidence(left, right, tolerance).items():
        yield case.fault(contract, f"gave another '{name}' {when}", listed_samples(samples))


def _equal(left: float | None, right: float | None) -> bool:
    if left is None or right is None:
        return left is right
    return bool(np.isclose(left, right, rtol=EXACT, atol=EXACT, equal_nan=True))


AT_SITES = (
    answers,
    rows,
    finite,
    blocks_merge,
    batch_size,
    direction,
    invariances,
    in_range,
    attribution_untouched,
    model_untouched,
    deterministic,
    no_global_randomness,
    no_global_switches,
    every_sample,
    constant_maps,
    probe_shared,
)
ON_LINEAR_MODELS = (
    answers,
    finite,
    exact_on_linear,
    best_on_linear,
    direction,
    batch_size,
    every_sample,
    no_memory,
    model_untouched,
    invariances,
    constant_maps,
    literal,
)
CONTRACTS = tuple(dict.fromkeys((*AT_SITES, *ON_LINEAR_MODELS)))


def contracts_for(case: Case) -> tuple[Callable[..., Iterator[Fault]], ...]:
    return ON_LINEAR_MODELS if isinstance(case, LinearCase) else AT_SITES
