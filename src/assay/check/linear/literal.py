"""Does a metric return the numbers of its literal version?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from assay.check.contracts.fault import Fault
from assay.check.linear import maps
from assay.check.linear.linear_case import LinearCase, tolerance
from assay.check.linear.metric_calls import quiet
from assay.core.errors import NotApplicable
from assay.foreign.metrics import as_numbers


def literal(case: LinearCase) -> Iterator[Fault]:
    """A slow version, written from the definition, gives the same numbers for exact, random and negated maps."""
    version = case.promises.literal
    if version is None:
        raise NotApplicable("no literal version is given: --literal module:attr")
    for problem in case.problems:
        for attribution in (problem.exact, maps.random(problem.exact), -problem.exact):
            answer = case.ask(problem, attribution)
            with quiet():
                expected, _ = as_numbers(version.ask(case.metric_call.inputs(problem, attribution)))
            same = expected.size == answer.values.size
            if same:
                ours, theirs = (rows[answer.defined] for rows in (answer.values, expected.reshape(answer.values.shape)))
                same = np.allclose(ours, theirs, rtol=0, atol=tolerance(expected), equal_nan=True)
            if not same:
                returned = f"{answer}, where the literal version returns {expected.flatten().tolist()}"
                yield case.fault(literal, "differs from the literal version", problem.describe(attribution, returned))
                return
