"""Does a metric agree with a literal version of itself?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from assay.check import maps
from assay.check.fault import Fault
from assay.check.judges import quiet
from assay.check.ladder_case import LadderCase, close
from assay.core.errors import NotApplicable
from assay.core.foreign_metrics import numbers


def literal(case: LadderCase) -> Iterator[Fault]:
    """A slow version, written from the definition, gives the same numbers for exact, random and negated maps."""
    other = case.promises.literal
    if other is None:
        raise NotApplicable("no literal version is given: --literal module:attr")
    for rung in case.answered:
        for attribution in (rung.exact, maps.random(rung.exact), -rung.exact):
            answer = case.ask(rung, attribution)
            with quiet():
                expected, _ = numbers(other.ask(case.judge.material(rung, attribution)))
            wanted = expected.reshape(answer.values.shape) if expected.size == answer.values.size else None
            near = wanted is not None and np.allclose(
                answer.values[answer.defined], wanted[answer.defined], rtol=0, atol=close(wanted), equal_nan=True
            )
            if not near:
                told = f"{answer}, where the literal version returns {expected.flatten().tolist()}"
                yield case.fault(literal, "differs from the literal version", rung.told(attribution, told))
                return
