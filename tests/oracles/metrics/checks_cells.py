"""Checks of metrics that leave out one cell. Each takes what makes the metric, so that mutants can be checked too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool2d

from assay.core.errors import NotApplicable, SpecError
from assay.core.features import Pixels
from assay.core.trial import Scene, Trial
from oracles.metrics.literal_cells import cell_attribution, cell_drops, rank_correlation, rectangles
from oracles.metrics.refusals import refuses
from oracles.metrics.scenes import PLAIN, VALUE, Lambda, answer, image_scene, members, numbers, scene, table_scene

Make = Callable[..., Any]
CANVAS = {"zero": 0.0, "true": 0.25, 0.7: 0.7}  # what the scenes hold


def check_single_deletion(make: Make) -> None:
    _check_small_images(make)
    _check_tables(make)
    _check_undefined(make)
    _check_rounding_of_answers(make)
    _check_rounding_of_maps(make)
    _check_linear_models(make)
    _check_invariance(make)
    size_agrees(make, Pixels(1, 64, 48), (7, 7), "relu")
    size_agrees(make, Pixels(3, 32, 32), (4, 4), "abs")
    _check_refusals(make)


def size_agrees(make: Make, features: Pixels, grid: tuple[int, int], transform: str, count: int = 2) -> None:
    """The literal score of images of this size, asked about logits."""
    where = pictures(features, count)
    attribution = numbers(61, count, *features.entries) + 0.05
    metric = make(grid=grid, transform=transform, canvas=0.7, readout="logit")
    found = metric(Trial(where, attribution, metric.probe(where)))
    expected = [literal(where, attribution, row, grid, transform, 0.7, None) for row in range(count)]
    np.testing.assert_allclose(found["value"], expected, rtol=1e-10, atol=1e-12)
    assert found["defined"].all()


def pictures(features: Pixels, count: int) -> Scene:
    """A network of 8 x 8 averages, hidden units and three logits, about images of any size."""
    hidden, head = numbers(62, 20, features.channels * 64), numbers(63, 3, 20)

    def logits(x: Tensor) -> Tensor:
        return ((3 * adaptive_avg_pool2d(x, 8)).flatten(1) @ hidden.T).relu() @ head.T

    return scene(numbers(64, count, *features.entries), Lambda(logits), features)


def literal(
    where: Scene, attribution: Tensor, row: int, grid: tuple[int, int], transform: str, canvas: Any, temperature: Any
) -> float | None:
    x = where.samples.x[row].numpy()
    cells = rectangles(*x.shape[1:], *grid)
    sums = [cell_attribution(attribution[row].numpy(), cell, transform) for cell in cells]
    drops = cell_drops(answer(where, row, temperature), x, np.full_like(x, CANVAS[canvas]), cells)
    return rank_correlation(sums, drops)


def _check_small_images(make: Make) -> None:
    """Per entry and per pixel; grids that divide 6 and do not; as the environment asks, and otherwise."""
    where = image_scene(4)
    cases: list[tuple[Tensor, tuple[int, int], str, Any, dict[str, Any], Any]] = [
        (numbers(71, 4, 2, 6, 6), (3, 2), "raw", "true", {}, 1.0),
        (numbers(72, 4, 6, 6), (4, 4), "abs", 0.7, {"temperature": 3.0}, 3.0),
        (numbers(73, 4, 2, 6, 6), (4, 5), "relu", "zero", {"readout": "logit"}, None),
    ]
    for attribution, grid, transform, canvas, asked, temperature in cases:
        metric = make(grid=grid, transform=transform, canvas=canvas, **asked)
        probe = metric.probe(where)
        assert probe["clean"].shape == (4,)
        assert probe["without"].shape == (4, grid[0] * grid[1])
        found = metric(Trial(where, attribution, probe))
        expected = [literal(where, attribution, row, grid, transform, canvas, temperature) for row in range(4)]
        np.testing.assert_allclose(found["value"], expected, rtol=1e-10, atol=1e-12)
        np.testing.assert_array_equal(metric(Trial(where, attribution))["value"], found["value"])


def _check_tables(make: Make) -> None:
    """Every column is a cell, with all of its entries."""
    where, attribution = table_scene(4), numbers(74, 4, 10)
    found = make(canvas=0.7)(Trial(where, attribution))
    columns = members(where.setting.features)
    for row in range(4):
        x, ask = where.samples.x[row].numpy(), answer(where, row)
        drops = [ask(x) - ask(np.where(column, 0.7, x)) for column in columns]
        sums = [float(attribution[row].numpy()[column].sum()) for column in columns]
        np.testing.assert_allclose(found["value"][row], rank_correlation(sums, drops), rtol=1e-10)


def _check_undefined(make: Make) -> None:
    """A constant map, a model that does not care, a model without an answer: not defined, 0, and never averaged."""
    x = numbers(75, 3, 1, 4, 4)
    x[1] = 9.0

    def careless(x: Tensor) -> Tensor:
        seen = x.flatten(1)
        return torch.where(seen.amax(1) > 8, 1.0, seen[:, 0] - 2 * seen[:, 5] + seen[:, 3])[:, None]

    where = scene(x, Lambda(careless), Pixels(1, 4, 4), VALUE)
    attribution = numbers(76, 3, 4, 4)
    attribution[2] = 0.1
    found = make(canvas="zero")(Trial(where, attribution))
    assert found.defined.tolist() == [True, False, False]
    assert found["value"][0] != 0
    assert found["value"][1:].tolist() == [0, 0]
    endless = scene(x, Lambda(lambda x: x.flatten(1).sum(1)[:, None] + 1 / x[:, 0, 0, :1]), Pixels(1, 4, 4), VALUE)
    assert not make()(Trial(endless, numbers(77, 3, 4, 4)))["defined"].any()
    assert make(canvas=0.7)(Trial(endless, numbers(77, 3, 4, 4)))["defined"].all()


def _check_rounding_of_answers(make: Make) -> None:
    """Cells with the same content have the same drop, although float32 adds them up in another place."""
    random = torch.Generator().manual_seed(78)
    contents = numbers(78, 3, 4, 4).float()  # of three kinds of cells
    kinds = [[0, 1, 1, 0], [2, 0, 1, 2], [1, 2, 0, 0], [2, 1, 0, 2]]
    x = torch.cat([torch.cat([contents[kind] for kind in row], dim=1) for row in kinds], dim=0)
    where = scene(x[None, None], Lambda(_added_one_by_one), Pixels(1, 16, 16), VALUE)
    attribution = torch.randn(1, 16, 16, generator=random)
    drops = [float(contents[kind].double().sum()) for row in kinds for kind in row]
    cells = rectangles(16, 16, 4, 4)
    sums = [cell_attribution(attribution[0].double().numpy(), cell, "raw") for cell in cells]
    found = make()(Trial(where, attribution))["value"]
    np.testing.assert_allclose(found, [rank_correlation(sums, drops)], rtol=1e-12)


def _added_one_by_one(x: Tensor) -> Tensor:
    """100 and all pixels, rounded after each: the order in which ``sum`` adds, and its rounding, is the processor's."""
    total = torch.full((len(x), 1), 100.0)
    for pixel in x.flatten(1).split(1, dim=1):
        total = total + pixel
    return total


def _check_rounding_of_maps(make: Make) -> None:
    """A centred bump has three kinds of cells, however flat it is: all widths have one score."""
    side = torch.linspace(-1, 1, 32)
    where = pictures(Pixels(3, 32, 32), 2)
    shaken = 1 + torch.finfo(torch.float32).eps * (
        torch.rand(32, 32, generator=torch.Generator().manual_seed(79)) - 0.5
    )
    wide = [torch.exp(-(side[:, None] ** 2 + side**2) / (2 * sigma**2)) * shaken for sigma in (1.0, 4.0, 256.0)]
    metric = make(readout="logit")
    values = [metric(Trial(where, bump.expand(2, 32, 32)))["value"] for bump in wide]
    levels = [0, 1, 1, 0, 1, 2, 2, 1, 1, 2, 2, 1, 0, 1, 1, 0]
    for row in range(2):
        x = where.samples.x[row].numpy()
        drops = cell_drops(answer(where, row, None), x, np.zeros_like(x), rectangles(32, 32, 4, 4))
        expected = rank_correlation([float(level) for level in levels], drops)
        np.testing.assert_allclose([value[row] for value in values], [expected] * 3, rtol=1e-12)


def _check_linear_models(make: Make) -> None:
    """``w * x`` is exact: its score is 1; its negative has -1."""
    weights = numbers(80, 2, 6, 6)
    model = Lambda(lambda x: (x * weights).flatten(1).sum(1, keepdim=True))
    where = scene(numbers(81, 3, 2, 6, 6), model, Pixels(2, 6, 6), VALUE)
    exact = weights * where.samples.x
    for sign in (1.0, -1.0):
        found = make()(Trial(where, sign * exact))
        np.testing.assert_allclose(found["value"], [sign] * 3, rtol=1e-12)


def _check_invariance(make: Make) -> None:
    """A positive factor changes nothing, nor does a constant where cells are of equal size; where not, it does."""
    where, attribution = pictures(Pixels(3, 32, 32), 3), numbers(82, 3, 32, 32)
    metric = make(readout="logit")
    probe = metric.probe(where)
    plain = metric(Trial(where, attribution, probe))["value"]
    for other in (1e-20 * attribution, 1e20 * attribution, attribution + 3, attribution - 50):
        np.testing.assert_allclose(metric(Trial(where, other, probe))["value"], plain, rtol=1e-12)
    uneven = make(readout="logit", grid=(7, 7))
    left, right = (uneven(Trial(where, moved))["value"] for moved in (attribution, attribution + 50))
    assert not np.allclose(left, right)


def _check_refusals(make: Make) -> None:
    large = make(grid=(7, 2))
    trial = Trial(image_scene(1), numbers(83, 1, 6, 6))
    refuses(NotApplicable, "images are 6 x 6, ask for a smaller grid", lambda: large(trial))
    for grid in ((1, 1), (0, 4)):
        refuses(SpecError, "rows and columns", lambda grid=grid: make(grid=grid))
    assert make().probe(table_scene(1, features=PLAIN))["without"].shape == (1, 7)


def check_readout_conflict(make: Make) -> None:
    """One cell at a time: the logit falls and the probability rises, or not."""
    images, tables = image_scene(6), table_scene(6)
    warm = replace(images.setting, question=replace(images.setting.question, temperature=3.0))
    for where, grid, canvas, temperature in (
        (images, (4, 4), "zero", 1.0),
        (replace(images, setting=warm), (3, 2), "true", 3.0),
        (images, (4, 5), 0.7, 1.0),
    ):
        expected = []
        for row, x in enumerate(where.samples.x.numpy()):
            cells, background = rectangles(6, 6, *grid), np.full_like(x, CANVAS[canvas])
            logit, probability = (
                cell_drops(answer(where, row, how), x, background, cells) for how in (None, temperature)
            )
            expected.append(share_of_conflicts(logit, probability))
        _check_conflicts(make(grid=grid, canvas=canvas), where, expected)
    expected = []
    for row, x in enumerate(tables.samples.x.numpy()):
        versions = [np.where(column, 0.0, x) for column in members(tables.setting.features)]
        logit, probability = (
            [ask(x) - ask(one) for one in versions] for ask in (answer(tables, row, None), answer(tables, row))
        )
        expected.append(share_of_conflicts(logit, probability))
    _check_conflicts(make(), tables, expected)
    _check_rounding_of_conflicts(make)
    _check_conflicts_without_an_answer(make)


def share_of_conflicts(logit: list[float], probability: list[float]) -> float:
    return sum(one > 0 > other for one, other in zip(logit, probability, strict=True)) / len(logit)


def _check_conflicts(metric: Any, where: Scene, expected: list[float]) -> None:
    """The same for any map, and with or without a probe."""
    count, shape = len(expected), where.setting.features.shape
    found = metric(Trial(where, numbers(84, count, *shape), metric.probe(where)))
    np.testing.assert_allclose(found["value"], expected, rtol=1e-12)
    assert found["defined"].all()
    np.testing.assert_array_equal(metric(Trial(where, numbers(85, count, *shape)))["value"], found["value"])
    assert len(set(expected)) > 1


def _check_rounding_of_conflicts(make: Make) -> None:
    """By how much the logits of target and rival fall without each pixel; 2 ** -17 is a unit in their last place.

    Both are about 94, so that all sums are exact, and neither is likely.
    """
    unit = 2.0**-17
    conflicts = [(1, 2), (0.5, 1), (2**-8, 2), (1, 1 + 2**-7)]
    others = [
        (1, 0.5),
        (1, -1),
        (-1, 0),
        (-1, 2),
        (0, 2),
        (unit, 2),
        (4 * unit, 1),
        (1, 1 + unit),
        (2, 2),
        (1, 0),
        (0, 0),
        (0, -1),
    ]
    falls = torch.tensor(conflicts + others).T  # (2, 16): sums are exact in float32
    model = Lambda(lambda x: torch.tensor([88.0, 80.0]) + (x.flatten(1)[:, None] * falls).sum(dim=2))
    where = scene(torch.ones(2, 1, 4, 4), model, Pixels(1, 4, 4))
    question = replace(where.setting.question, temperature=10.0)
    where = replace(where, setting=replace(where.setting, question=question), target=torch.zeros(2, dtype=torch.long))
    found = make()(Trial(where, torch.ones(2, 4, 4)))
    assert found["value"].tolist() == [len(conflicts) / 16] * 2


def _check_conflicts_without_an_answer(make: Make) -> None:
    """The third class is endless without the first pixel: high, so that no class has a probability, or low."""
    x = numbers(86, 3, 1, 4, 4)
    x[1, 0, 0, 0] = 0
    for sign, blank in ((1, [False] * 3), (-1, [False, True, False])):
        endless = Lambda(
            lambda x, sign=sign: torch.stack([x[:, 0, 1, 1], x[:, 0, 2, 2], sign / x[:, 0, 0, 0].abs()], dim=1)
        )
        where = replace(scene(x, endless, Pixels(1, 4, 4)), target=torch.tensor([2, 0, 2]))
        for canvas, defined in ((0.5, [True, sign < 0, True]), ("zero", blank)):
            found = make(canvas=canvas)(Trial(where, numbers(87, 3, 4, 4)))
            assert found["defined"].tolist() == defined
            assert not found["value"][~found["defined"]].any()
    value = scene(x, Lambda(lambda x: x.flatten(1).sum(1, keepdim=True)), Pixels(1, 4, 4), VALUE)
    refuses(NotApplicable, "needs a classifier", lambda: make().probe(value))
    for grid in ((1, 1), (0, 4)):
        refuses(SpecError, "rows and columns", lambda grid=grid: make(grid=grid))
