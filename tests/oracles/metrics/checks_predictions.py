"""Checks of the metrics about a model's predictions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.setting import Reference
from assay.core.trial import Scene, Trial
from oracles.metrics import literal_between
from oracles.metrics.checks_parts import PAGE, PARTS, kept_parts_of_accuracy, parted, versions
from oracles.metrics.literal_cells import Rectangle, rectangles
from oracles.metrics.refusals import refuses
from oracles.metrics.scenes import (
    PLAIN,
    VALUE,
    Lambda,
    image_scene,
    members,
    network,
    numbers,
    scene,
    table_scene,
    truth_scene,
)

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
    shape = where.setting.features.shape
    found = metric(Trial(where, numbers(72, len(where.samples), *shape), metric.probe(where)))
    again = metric(Trial(where, numbers(73, len(where.samples), *shape)))
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
    _check_gain(make, where)
    _check_several_answers(make)
    kept_parts_of_accuracy(make)
    lacking_cells_of_accuracy(make)
    _check_infinite_outputs(make(), [True, False, True])
    for of in ("rule", "sibling", "gain"):
        _check_infinite_outputs(make(of=of), [True, False, True])
    bare = replace(where, setting=replace(where.setting, rule=None, reference=None, sibling=None))
    refuses(NotApplicable, "known rule", partial(make(of="rule").probe, bare))
    refuses(NotApplicable, "reference rows", partial(make(on="training").probe, bare))
    refuses(NotApplicable, "reference rows", partial(make(of="majority").probe, bare))
    for of in ("sibling", "gain"):
        refuses(NotApplicable, "needs a second model", partial(make(of=of).probe, bare))
    refuses(NotApplicable, "needs more than 3 classes, and there are 3", partial(make(k=3).probe, where))
    refuses(SpecError, "k=0", partial(make, k=0))
    refuses(SpecError, "grid=(0, 4)", partial(make, grid=(0, 4)))
    refuses(NotApplicable, "needs a classifier", partial(make().probe, truth_scene(numbers(74, 3, 7))))


def _check_gain(make: Make, where: Scene) -> None:
    """Sample by sample: right now and wrong before is 1, the other way round -1."""
    now, before = (judged(make(of=of), where)[0] for of in ("model", "sibling"))
    gain = judged(make(of="gain"), where)
    assert gain == ([right - earlier for right, earlier in zip(now, before, strict=True)], [True] * ROWS)
    assert {-1.0, 1.0} <= set(gain[0])
    now, before = (judged(make(of=of, on="training"), where)[0] for of in ("model", "sibling"))
    assert now != before
    np.testing.assert_allclose(judged(make(of="gain", on="training"), where)[0], np.subtract(now, before), rtol=1e-12)


def named(outputs: list[float], k: int) -> list[int]:
    """The classes with the k highest outputs; of equal ones the first."""
    return sorted(range(len(outputs)), key=lambda index: (-outputs[index], index))[:k]


def _check_several_answers(make: Make) -> None:
    """Six classes, whose outputs are often equal; labels of every frequency."""
    x, label = numbers(77, 20, 7).round(), torch.tensor([0, 1, 2, 3, 4, 5, 5, 4, 3, 3] * 2)
    where = scene(x, Lambda(lambda x: x[:, :6]), PLAIN)
    reference = Reference(
        numbers(78, 21, 7).round(), torch.tensor([0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 4, 5, 5, *[0] * 6])
    )
    setting = replace(where.setting, reference=reference, rule=by_first_columns)
    where = replace(where, samples=replace(where.samples, label=label), setting=setting)
    by_count = sorted(range(6), key=lambda known: -reference.label.tolist().count(known))
    shares = []
    for k in (1, 2, 3, 5):
        for on, rows, labels in (("samples", x, label), ("training", reference.x, reference.label)):
            hits = [float(int(one) in named(row[:6], k)) for row, one in zip(rows.tolist(), labels, strict=True)]
            found = judged(make(k=k, on=on), where)[0]
            np.testing.assert_allclose(found, hits if on == "samples" else [sum(hits) / len(hits)] * 20, rtol=1e-12)
        shares.append(sum(judged(make(k=k), where)[0]))
        frequent = [float(one in by_count[:k]) for one in label.tolist()]
        assert judged(make(of="majority", k=k), where)[0] == frequent
    assert shares == sorted(set(shares))
    few = replace(where, samples=replace(where.samples, label=label % 3))
    assert judged(make(of="rule", k=2), few)[0] == [
        float(int(one) in named(row[:3], 2)) for row, one in zip(x.tolist(), few.samples.label, strict=True)
    ]


def lacking_cells_of_accuracy(make: Make) -> None:
    """The share of the rectangles without which the answer is right; the environment's baseline is in their place."""
    where = parted(image_scene(ROWS))
    where = replace(where, setting=replace(where.setting, sibling=network(seed=3)))
    reference = where.setting.reference
    assert reference is not None
    assert where.setting.sibling is not None
    for grid, k, keep in (((4, 4), 1, ""), ((4, 5), 2, ""), ((3, 2), 1, "left"), ((1, 1), 1, "")):
        cells = rectangles(6, 6, *grid)
        shares = {}
        for of, model in (("model", where.setting.model), ("sibling", where.setting.sibling)):
            shares[of] = [
                share_of_cells(model, row, int(label), cells, k, keep)
                for row, label in zip(where.samples.x, where.samples.label, strict=True)
            ]
            found = judged(make(of=of, without="cell", grid=grid, k=k, keep=keep), where)
            np.testing.assert_allclose(found[0], shares[of], rtol=1e-12)
            assert all(found[1])
        gain = judged(make(of="gain", without="cell", grid=grid, k=k, keep=keep), where)[0]
        np.testing.assert_allclose(gain, np.subtract(shares["model"], shares["sibling"]), rtol=1e-12, atol=1e-15)
        rows = [
            share_of_cells(where.setting.model, row, int(label), cells, k, keep)
            for row, label in zip(reference.x, reference.label, strict=True)
        ]
        found = judged(make(on="training", without="cell", grid=grid, k=k, keep=keep), where)[0]
        np.testing.assert_allclose(found, [sum(rows) / len(rows)] * ROWS, rtol=1e-12)
        assert grid == (1, 1) or any(0 < share < 1 for share in shares["model"])
    assert judged(make(without="cell"), where) == judged(make(without="cell", grid=(4, 4)), where)
    assert judged(make(grid=(2, 2)), where) == judged(make(), where)
    refuses(NotApplicable, "ask for a smaller grid", partial(make(without="cell", grid=(7, 2)).probe, where))
    _check_tables_without_a_column(make)
    endless = Lambda(lambda x: torch.stack([x[:, 0, 0, 0], x[:, 0, 5, 5], 1 / (x[:, 0, 0, 0] - PAGE)], dim=1))
    nowhere = replace(where, setting=replace(where.setting, model=endless))
    assert all(judged(make(), nowhere)[1])
    assert judged(make(without="cell"), nowhere) == ([0.0] * ROWS, [False] * ROWS)


def share_of_cells(model: Any, row: Tensor, label: int, cells: list[Rectangle], k: int, keep: str) -> float:
    right = 0
    for top, bottom, left, after in cells:
        shown = versions(row, PARTS[keep])["alone"] if keep else row.clone()
        shown[:, top:bottom, left:after] = PAGE
        right += label in named(answers(model, shown[None])[0], k)
    return right / len(cells)


def _check_tables_without_a_column(make: Make) -> None:
    """Each column in turn, with all of its entries."""
    where = table_scene(ROWS)
    columns = members(where.setting.features)
    expected = []
    for row, label in zip(where.samples.x, where.samples.label.tolist(), strict=True):
        shown = [torch.where(torch.from_numpy(column), 0.0, row) for column in columns]
        hits = [argmax(answers(where.setting.model, one[None])[0]) == label for one in shown]
        expected.append(sum(hits) / len(columns))
    np.testing.assert_allclose(judged(make(without="cell"), where)[0], expected, rtol=1e-12)


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
