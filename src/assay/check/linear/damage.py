"""Does a metric notice that an exact map was damaged? Information, not a promise: a metric of orders ignores sizes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np
import torch
from torch import Tensor

from assay.check.linear import maps
from assay.check.linear.linear_case import TOLERANCE, LinearCase, answers_differ
from assay.check.linear.linear_models import SEED, LinearProblem
from assay.core.query import Query
from assay.core.rng import Stream
from assay.methods.damaged import Damaged

SCHEMES = ("constant", "random", "partial")
FEWEST_FEATURES = 10  # of a map that has features of the ranks that "partial" changes
NOTICES, ORDER, BLIND = "notices", "only where the order changes", "does not notice"


@dataclass(frozen=True)
class DamageFinding:
    """Which damages a metric notices."""

    answer: str  # notices, only where the order changes, does not notice
    noticed: tuple[str, ...]  # schemes whose Remove and Introduce it tells from the original and from each other
    unnoticed: tuple[str, ...]

    def __str__(self) -> str:
        """The answer in words."""
        if self.answer == BLIND:
            return f"does not notice that a map is damaged: {', '.join(self.unnoticed)} Remove and Introduce"
        schemes = f"notices that a map is damaged: {', '.join(self.noticed)} Remove and Introduce"
        schemes += f", not {', '.join(self.unnoticed)}" if self.unnoticed else ""
        return f"{schemes}{'; only where they change the order of features' if self.answer == ORDER else ''}"


@dataclass(frozen=True, eq=False)
class _Exact:
    """A method that returns this map."""

    attribution: Tensor

    def __call__(self, query: Query) -> Tensor:
        return self.attribution


def notices_damage(case: LinearCase) -> DamageFinding | None:
    """What the metric notices on the larger linear models; None where it does not apply or gives no answer.

    The original is the positive part of the exact map over its largest value. A scheme is noticed if the metric tells
    original, Remove and Introduce apart on one of the models. Order alone decides if other sizes in the same order
    change no answer.
    """
    try:
        problems = [problem for problem in case.problems if _large(problem)]
    except Exception:  # reported by ``answers``
        return None
    answered = [problem for problem in problems if case.try_answers(problem, _original(problem))]
    if not answered:
        return None
    noticed = tuple(scheme for scheme in SCHEMES if any(_tells_apart(case, each, scheme) for each in answered))
    unnoticed = tuple(scheme for scheme in SCHEMES if scheme not in noticed)
    if not noticed:
        return DamageFinding(BLIND, noticed, unnoticed)
    sizes_matter = any(_differ(case, each, _original(each), _other_sizes(_original(each))) for each in answered)
    return DamageFinding(NOTICES if sizes_matter else ORDER, noticed, unnoticed)


def _large(problem: LinearProblem) -> bool:
    """Several samples, many features, and one number for each."""
    features = prod(problem.features.shape)
    return len(problem) > 1 and features >= FEWEST_FEATURES and problem.exact[0].numel() == features


def _original(problem: LinearProblem) -> Tensor:
    return _damaged(problem, "none", SCHEMES[0])


def _other_sizes(original: Tensor) -> Tensor:
    return maps.equivalent(original, "monotone")["other sizes in the same order"]


def _damaged(problem: LinearProblem, change: str, scheme: str) -> Tensor:
    setting = problem.environment.setting(SEED, {})
    stream, indices = Stream("method", "damaged", seed=problem.seed), problem.samples.indices
    query = Query(setting, setting.question, problem.x, problem.y, torch.zeros_like(problem.x), indices, stream)
    method = Damaged(_Exact(problem.exact), change=change, scheme=scheme, transform="positive")  # type: ignore[arg-type]
    return method(query).view_as(problem.exact)


def _tells_apart(case: LinearCase, problem: LinearProblem, scheme: str) -> bool:
    changed = [_damaged(problem, change, scheme) for change in ("none", "remove", "introduce")]
    return all(_differ(case, problem, left, right) for left, right in combinations(changed, 2))


def _differ(case: LinearCase, problem: LinearProblem, left: Tensor, right: Tensor) -> bool:
    """Whether two maps get other values, or other curves."""
    plain, other = (case.try_answers(problem, attribution) for attribution in (left, right))
    if not plain or not other:
        return False
    if answers_differ(plain, other, case.noisy):
        return True
    curve, other_curve = (case.metric_call.curve(problem, attribution.clone()) for attribution in (left, right))
    same = curve.shape == other_curve.shape and np.allclose(curve, other_curve, rtol=TOLERANCE, atol=TOLERANCE)
    return not same
