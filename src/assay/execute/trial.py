"""What happens to a method: a block of samples becomes a query, the method answers, the answer is checked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

import torch
from torch import Tensor

from assay.core.errors import NotApplicable
from assay.core.machine import Machine
from assay.core.protocols import Fitted, Method, Promising
from assay.core.query import Query
from assay.core.question import Question
from assay.core.rng import Key
from assay.core.setting import Samples, Setting
from assay.core.trial import baseline_for, check_attribution, targets_for


def pose(setting: Setting, samples: Samples, question: Question, stream: Key, machine: Machine) -> Query:
    """The question about these samples, nothing left open."""
    asked = question.over(setting.question)
    target = targets_for(setting, asked, samples.x, samples.label, machine)
    baseline = baseline_for(setting, asked.baseline, samples.x)
    return Query(setting, asked, samples.x, target, baseline, samples.indices, stream, {}, machine)


def attribute(method: Method, query: Query) -> Tensor:
    """The method's answer, checked; it works on copies, so that the next method sees what this one saw.

    Reference rows are for ``fit`` alone.
    """
    setting = replace(query.setting, reference=None)
    x, target, baseline = query.x.clone(), query.target.clone(), query.baseline.clone()
    own = replace(query, setting=setting, x=x, target=target, baseline=baseline)
    return check_attribution(method(own), query.x, query.setting.features)


def attribute_within(method: Method, query: Query) -> tuple[Tensor, int]:
    """The answer, and how often the memory budget had to be halved for it (0 as a rule)."""
    for halved, machine in enumerate(_budgets(query.machine)):
        try:
            return attribute(method, replace(query, machine=machine)), halved
        except Exception as error:
            if not _out_of_memory(error):
                raise
    return attribute(method, replace(query, machine=replace(query.machine, memory=1))), -1


def promise(method: Method, query: Query) -> Tensor | None:
    """What the attribution should add up to (B,), for methods that say so."""
    if not hasattr(method, "promised"):
        return None
    return cast(Promising, method).promised(query).detach().double()


def gap(attribution: Tensor, promised: Tensor) -> Tensor:
    """How far the attribution is from what was promised (B,)."""
    return attribution.double().flatten(1).sum(dim=1) - promised


def fit(method: Fitted, setting: Setting, question: Question, stream: Key, machine: Machine) -> dict[str, Tensor]:
    """What the method finds in the reference rows."""
    reference = setting.reference
    if reference is None:
        raise NotApplicable("needs reference data to fit, and this environment has none")
    rows = Samples(reference.x, reference.label, None, tuple(range(len(reference.x)))).copy()
    return method.fit(pose(setting, rows, question, stream, machine))


def _budgets(machine: Machine, tries: int = 4) -> Iterator[Machine]:
    for power in range(tries):
        yield replace(machine, memory=machine.memory >> power)


def _out_of_memory(error: Exception) -> bool:
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or "can't allocate memory" in str(error)
