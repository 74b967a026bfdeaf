"""Where ``make test`` tries all contracts of a component: at the fewest sites that show it all that any site shows.

Elsewhere a component is held to the contracts about a single answer, and ``make test-full`` tries all contracts at all
sites. Which sites these are follows from facts about their settings, and from where the component applies.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import TypeVar

from torch import nn

from assay.check.contracts.fault import Unanswered
from assay.check.contracts.method_case import MethodCase
from assay.check.contracts.metric_case import MetricCase
from assay.check.instruments.sites import site
from assay.core.facts import fact

C = TypeVar("C", MethodCase, MetricCase)
K = TypeVar("K")
Traits = frozenset[str]
ASKING = {"model", "label", "method", "sibling"}  # a metric that needs one of these has the model answer


def divided(cases: Sequence[C]) -> tuple[list[C], list[C]]:
    """The cases on which all contracts are tried, and the others."""
    chosen = cover({case: traits(case) for case in cases if _answers(case)})
    return chosen, [case for case in cases if case not in chosen]


def _answers(case: MethodCase | MetricCase) -> bool:
    """False where the component does not apply, and where it stops with an error: a contract reports that."""
    try:
        return not case.reason()
    except Unanswered:
        return False


def cover(shown: Mapping[K, Traits]) -> list[K]:
    """The fewest keys that together have every trait; of several such sets, the first in the order of the keys."""
    every = frozenset().union(*shown.values())
    sets = (keys for size in range(len(shown) + 1) for keys in combinations(shown, size))
    return next(list(keys) for keys in sets if every <= frozenset().union(*(shown[key] for key in keys)))


def traits(case: MethodCase | MetricCase) -> Traits:
    """What the component can tell this site from others by: a method sees no truth, some metrics see no model."""
    place = case.origin.name
    if isinstance(case, MethodCase):
        return _of_inputs(place) | _of_the_model(place)
    asks = bool(ASKING & set(fact(case.metric, "needs", ())))
    return _of_inputs(place) | _of_the_truth(place) | (_of_the_model(place) if asks else frozenset())


@cache
def _of_inputs(place: str) -> Traits:
    setting = site(place).setting
    several = math.prod(setting.features.entries) > math.prod(setting.features.shape)
    return frozenset({f"{setting.kind} of {'several entries' if several else 'one entry'} per feature"})


@cache
def _of_the_model(place: str) -> Traits:
    setting = site(place).setting
    question = setting.question
    outputs = len(setting.model(site(place).pool.x[:1])[0])
    return frozenset(
        {
            f"readout {question.readout}",
            f"baseline {question.baseline}",
            f"target {question.target}",
            f"answers in {setting.outputs}",
            f"outputs: {min(outputs, 3)}",
            f"gradients: {setting.differentiable}",
            *(f"layer {type(module).__name__}" for module in setting.model.modules() if _is_treated(module)),
            *(f"hint for {name}" for name in setting.hints),
        }
    )


def _is_treated(module: nn.Module) -> bool:
    """True for what methods know by its type: layers of torch, attention, and estimators."""
    return type(module).__module__.startswith("torch.nn") or type(module).__name__ in ("Attention", "Estimator")


@cache
def _of_the_truth(place: str) -> Traits:
    setting, truth = site(place).setting, site(place).pool.truth
    signs = "no truth" if truth is None else "signed truth" if bool((truth.effect < 0).any()) else "positive truth"
    known = (f"{name}: {getattr(setting, name) is not None}" for name in ("background", "informative"))
    return frozenset({signs, *known})
