"""Do the invariances that a metric declares hold?"""

from __future__ import annotations

from collections.abc import Iterator

from assay.check.contracts.fault import Fault
from assay.check.contracts.metric_case import FEW_INDICES, MetricCase, noise
from assay.check.instruments.compare import differing_evidence, listed_samples
from assay.check.linear import maps
from assay.core.evidence import Evidence
from assay.core.facts import fact

TOLERANCE = 1e-4  # relative and absolute: answers of float32 models, through a correlation
GRAIN = 64  # values are multiples of 1/64: shifts and cubes are exact, and some values tie


def declared_invariances(case: MetricCase) -> Iterator[Fault]:
    """Declared invariances hold: the scale of a map, a shift, or everything but its order does not matter.

    Not tried for metrics that ask the method again, ask another model or prepare on other rows: they judge more than
    one map.
    """
    case.plain(FEW_INDICES)
    needs = fact(case.metric, "needs", ())
    if "method" in needs or "sibling" in needs or hasattr(case.metric, "prepare"):
        return
    scene = case.scene(FEW_INDICES)
    start = (noise(scene, scene.setting.features.shape) * GRAIN).round() / GRAIN
    plain = _compared_rows(case.judge(scene, start))
    for kind in fact(case.metric, "invariant", ()):
        for name, variant in maps.equivalent(start, kind).items():
            for samples in differing_evidence(plain, _compared_rows(case.judge(scene, variant)), TOLERANCE).values():
                message = f"declares '{kind}' and is not invariant: gave another value for {name}"
                yield case.fault(declared_invariances, message, listed_samples(samples))


def _compared_rows(evidence: Evidence) -> Evidence:
    """Values and where they are defined, without other arrays; all arrays of a set-level metric."""
    compared = ("value", "defined") if "value" in evidence.rows else tuple(evidence.rows)
    return Evidence({name: array for name, array in evidence.rows.items() if name in compared})
