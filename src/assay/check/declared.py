"""What a metric declares not to matter."""

from __future__ import annotations

from collections.abc import Iterator

from assay.check import maps
from assay.check.compare import differing_rows, told
from assay.check.fault import Fault
from assay.check.metric_case import FEW, MetricCase, noise
from assay.core.evidence import Evidence
from assay.core.promises import fact

CLOSE = 1e-4  # relative and absolute: answers of float32 models, through a correlation
GRAIN = 64  # values are whole numbers of 1/64: a shift or a cube rounds nothing away, and some values tie


def declared_invariances(case: MetricCase) -> Iterator[Fault]:
    """What is declared not to matter does not: the scale of a map, a shift, everything but its order.

    Metrics that ask the method again, ask another model or prepare on other rows judge more than a map: they are held
    to nothing here.
    """
    case.plain(FEW)
    needs = fact(case.metric, "needs", ())
    if "method" in needs or "sibling" in needs or hasattr(case.metric, "prepare"):
        return
    scene = case.scene(FEW)
    start = (noise(scene, scene.setting.features.shape) * GRAIN).round() / GRAIN
    plain = _values(case.judge(scene, start))
    for kind in fact(case.metric, "invariant", ()):
        for name, changed in maps.changed(start, kind).items():
            for samples in differing_rows(plain, _values(case.judge(scene, changed)), CLOSE).values():
                message = f"declares '{kind}' and is not invariant: gave another value for {name}"
                yield case.fault(declared_invariances, message, told(samples))


def _values(evidence: Evidence) -> Evidence:
    """Without what is a metric's own business; of a set-level metric, everything."""
    own = ("value", "defined") if "value" in evidence.rows else tuple(evidence.rows)
    return Evidence({name: array for name, array in evidence.rows.items() if name in own})
