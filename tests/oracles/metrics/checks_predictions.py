"""Checks of the metrics about a model's predictions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from assay.core.errors import NotApplicable
from assay.core.setting import Reference
from assay.core.trial import Scene, Trial
from oracles.metrics import literal_between
from oracles.metrics.checks_parts import kept_parts_of_accuracy
from oracles.metrics.refusals import refuses
from oracles.metrics.scenes import PLAIN, VALUE, Lambda, numbers, scene, table_scene, truth_scene

Make = Callable[..., Any]
ROWS = 12


def by_first_columns(x: Tensor) -> Tensor:
    """A rule: the scores are the first three columns."""
    return x[:, :3]


def where_labels_are_noisy() -> Scene:
    """A table with reference rows of mixed labels, a known rule and another model that reads other columns."""
    where = table_scene(ROWS, features=PLAIN)
    reference = Reference(numbers(71, 20, 7), torch.arange(20) % 3)
    sibling = Lambda(lambda x: -x[:, 3:6])
    return replace(where, setting=replace(where.setting, reference=reference, rule=by_first_columns, sibling=sibling))


def judged(metric: Any, where: Scene) -> tuple[list[float], list[bool]]:
    """Value and definedness of every sample: the same for any map, and with or without a probe."""
    found = metric(Trial(where, numbers(72, len(where.samples), 7), metric.probe(where)))
    again = metric(Trial(where, numbers(73, len(where.samples), 7)))
    np.testing.assert_array_equal(found["value"], again["value"])
    np.testing.assert_array_equal(found["defined"], again["defined"])
    return found["value"].tolist(), found["defined"].tolist()


def argmax(numbers_: list[float]) -> int:
    return max(range(len(numbers_)), key=numbers_.__getitem__)


def answers(function: Callable[[Tensor], Tensor], x: Tensor) -> list[list[float]]:
    """One row at a time."""
    with torch.no_grad():
        return [function(row[None])[0].tolist() for row in x]


def check_accuracy(make: Make) -> None:
    where = where_labels_are_noisy()
    reference = where.setting.reference
    assert reference is not None
    assert where.setting.sibling is not None
    answering = {"model": where.setting.model, "rule": by_first_columns, "sibling": where.setting.sibling}
    for of, function in answering.items():
        hits = [
            [float(argmax(row) == label) for row, label in zip(answers(function, x), labels.tolist(), strict=True)]
            for x, labels in ((where.samples.x, where.samples.label), (reference.x, reference.label))
        ]
        assert all(0 < sum(some) < len(some) for some in hits)
        assert judged(make(of=of), where) == (hits[0], [True] * ROWS)
        value, defined = judged(make(of=of, on="training"), where)
        np.testing.assert_allclose(value, [sum(hits[1]) / 20] * ROWS, rtol=1e-12)
        assert all(defined)
    assert judged(make(), where) == judged(make(of="model", on="samples"), where)
    known = reference.label.tolist()
    most = max(sorted(set(known)), key=known.count)
    assert len({known.count(label) for label in known}) > 1
    assert judged(make(of="majority"), where)[0] == [float(label == most) for label in where.samples.label.tolist()]
    np.testing.assert_allclose(judged(make(of="majority", on="training"), where)[0], [known.count(most) / 20] * ROWS)
    kept_parts_of_accuracy(make)
    _check_infinite_outputs(make(), [True, False, True])
    for of in ("rule", "sibling"):
        _check_infinite_outputs(make(of=of), [True, False, True])
    bare = replace(where, setting=replace(where.setting, rule=None, reference=None, sibling=None))
    refuses(NotApplicable, "known rule", partial(make(of="rule").probe, bare))
    refuses(NotApplicable, "reference rows", partial(make(on="training").probe, bare))
    refuses(NotApplicable, "reference rows", partial(make(of="majority").probe, bare))
    refuses(NotApplicable, "needs a second model", partial(make(of="sibling").probe, bare))
    refuses(NotApplicable, "needs a classifier", partial(make().probe, truth_scene(numbers(74, 3, 7))))


def _check_infinite_outputs(metric: Any, expected: list[bool]) -> None:
    """No answer is neither right nor wrong."""
    model = Lambda(lambda x: x[:, :3] / x[:, 3:4])
    x = numbers(75, 3, 7)
    x[1, 3] = 0
    where = scene(x, model, PLAIN)
    where = replace(where, setting=replace(where.setting, rule=model, sibling=model))
    value, defined = judged(metric, where)
    assert defined == expected
    assert value[1] == 0


def check_confidence(make: Make) -> None:
    where = where_labels_are_noisy()
    for temperature in (1.0, 3.0):
        question = replace(where.setting.question, temperature=temperature)
        asked = replace(where, setting=replace(where.setting, question=question))
        outputs = answers(where.setting.model, where.samples.x)
        largest = [max(literal_between.softmax(row, temperature)) for row in outputs]
        correct = [argmax(row) == label for row, label in zip(outputs, where.samples.label.tolist(), strict=True)]
        assert 0 < sum(correct) < ROWS
        counts = {"all": [True] * ROWS, "correct": correct, "wrong": [not right for right in correct]}
        for samples, defined in counts.items():
            value, found = judged(make(samples=samples), asked)
            assert found == defined
            np.testing.assert_allclose(value, np.where(defined, largest, 0.0), rtol=1e-12)
        assert judged(make(), asked) == judged(make(samples="all"), asked)
    _check_infinite_outputs(make(), [True, False, True])
    value_only = scene(numbers(76, 3, 7), Lambda(lambda x: x.sum(1, keepdim=True)), PLAIN, VALUE)
    refuses(NotApplicable, "needs a classifier", partial(make().probe, value_only))
