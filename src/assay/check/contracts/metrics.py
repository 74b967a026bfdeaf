"""The contracts of metrics at sites."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import torch

from assay.check.contracts.direction import direction
from assay.check.contracts.fault import Fault
from assay.check.contracts.invariances import declared_invariances
from assay.check.contracts.metric_case import FEW_INDICES, MANY_INDICES, MetricCase, noise, uninformative_maps
from assay.check.instruments.budgets import budgets, metered
from assay.check.instruments.compare import differing_evidence, listed_samples, same_bits
from assay.check.instruments.process_state import differences, reseeded, streams, switches
from assay.check.instruments.snapshot import changed_parts, snapshot
from assay.core.errors import NotApplicable
from assay.core.evidence import Evidence, merge
from assay.core.facts import fact

BLOCK = 16
EXACT = 1e-6  # relative and absolute: for sums over another set of samples
ROUNDING = (
    1e-4  # the same for other sizes of model calls: a unit in the last place of a logit of 8 is 1e-6, and changes
)
# the correlation of drops of 0.03 by 3e-5


def answers(case: MetricCase) -> Iterator[Fault]:
    """A metric answers or raises NotApplicable with a reason; it raises nothing else."""
    try:
        case.evidence(FEW_INDICES)
    except NotApplicable as error:
        if not str(error).strip():
            yield case.fault(answers, "does not apply and gives no reason")
    except Exception as error:
        yield case.fault(answers, f"raised {type(error).__name__}: {error}, not NotApplicable")


def rows(case: MetricCase) -> Iterator[Fault]:
    """Every array has one row per sample: samples are merged, resampled and compared in pairs."""
    for name, array in case.plain(FEW_INDICES).rows.items():
        if len(array) != len(FEW_INDICES):
            yield case.fault(rows, f"returned {len(array)} rows of '{name}' for {len(FEW_INDICES)} samples")


def finite(case: MetricCase) -> Iterator[Fault]:
    """No NaN and no infinity in the evidence: undefined values have ``defined`` False."""
    for name, array in case.plain(FEW_INDICES).rows.items():
        bad = np.flatnonzero(~np.isfinite(array.astype(np.float64)).reshape(len(array), -1).all(axis=1))
        if len(bad):
            yield case.fault(finite, f"returned NaN or infinite values in '{name}'", listed_samples(bad.tolist()))


def blocks_merge(case: MetricCase) -> Iterator[Fault]:
    """Blocks of samples, judged one by one and merged, give the rows and the score of the whole set."""
    whole = case.plain(MANY_INDICES)
    starts = range(0, len(MANY_INDICES), BLOCK)
    blocks = merge([case.evidence(MANY_INDICES[start : start + BLOCK]) for start in starts])
    yield from _row_faults(case, blocks_merge, whole, blocks, f"blocks of {BLOCK}, merged", EXACT)
    left, right = case.reduce(whole), case.reduce(blocks)
    if not _equal(left.value, right.value) or (left.count, left.defined) != (right.count, right.defined):
        yield case.fault(blocks_merge, f"scored {left.value} on the whole set and {right.value} on merged blocks")


def batch(case: MetricCase) -> Iterator[Fault]:
    """1, 8 or 64 rows per model call give the same evidence: memory does not change results."""
    plain = case.plain(FEW_INDICES)
    footprint = case.scene(FEW_INDICES).ask().footprint  # measured before the meter runs
    with metered(case.site.setting.model) as meter:
        case.evidence(FEW_INDICES)
    for name, (_, machine) in budgets(footprint, meter.kinds).items():
        evidence = case.evidence(FEW_INDICES, machine)
        yield from _row_faults(case, batch, plain, evidence, name, ROUNDING)


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


def model_untouched(case: MetricCase) -> Iterator[Fault]:
    """The model keeps its hooks, modes, weights and attributes: the next metric uses the same model."""
    case.plain(FEW_INDICES)
    before = snapshot(case.site.setting.model)
    case.evidence(FEW_INDICES)
    for name in changed_parts(before, snapshot(case.site.setting.model)):
        yield case.fault(model_untouched, "left the model changed", name)


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


def sample_order(case: MetricCase) -> Iterator[Fault]:
    """Samples in another order give the same rows in that order: a row depends on its sample, not on its position."""
    plain = case.plain(FEW_INDICES)
    order = [*FEW_INDICES[3:], *FEW_INDICES[:3]]
    reordered = case.evidence(order).rows
    back = {name: array[np.argsort(order)] for name, array in reordered.items() if len(array) == len(order)}
    yield from _row_faults(case, sample_order, plain, Evidence(back), "in another order", EXACT)


def undefined_is_declared(case: MetricCase) -> Iterator[Fault]:
    """Constant maps give finite evidence, 0 where it is undefined; if no sample is defined, there is no score."""
    case.plain(FEW_INDICES)
    scene = case.scene(FEW_INDICES)
    for name, attribution in uninformative_maps(scene).items():
        evidence = case.judge(scene, attribution)
        for array in ("value", "curve"):
            values = evidence.rows.get(array, np.zeros(len(FEW_INDICES)))
            if not np.isfinite(values).all() or values[~evidence.defined].any():
                yield case.fault(
                    undefined_is_declared, f"returned a '{array}' that is undefined and not 0", f"map of {name}"
                )
        undefined = Evidence({**evidence.rows, "defined": np.zeros(len(FEW_INDICES), dtype=bool)}, evidence.axis)
        if (score := case.reduce(undefined)).value is not None or score.defined:
            yield case.fault(
                undefined_is_declared, f"scored {score.value} where no sample is defined", f"map of {name}"
            )


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


CONTRACTS = (
    answers,
    rows,
    finite,
    blocks_merge,
    batch,
    direction,
    declared_invariances,
    in_range,
    attribution_untouched,
    model_untouched,
    deterministic,
    no_global_randomness,
    no_global_switches,
    sample_order,
    undefined_is_declared,
    probe_shared,
)
