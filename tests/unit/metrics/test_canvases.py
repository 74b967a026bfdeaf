"""Canvases that come from reference rows or from a function: what stands for a removed feature, and who refuses it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import assay
from assay.core.errors import NotApplicable, SpecError
from assay.core.features import Features
from assay.core.machine import Machine
from assay.core.question import Question
from assay.core.setting import Reference
from assay.core.trial import Scene, Trial
from assay.metrics._removal import Removal, few_rows
from assay.metrics.axiom_dummy import AxiomDummy
from assay.metrics.axiom_symmetry import AxiomSymmetry
from assay.metrics.completeness import Completeness
from assay.metrics.deletion import Deletion
from assay.metrics.ids import Ids
from assay.metrics.infidelity import Infidelity
from assay.metrics.road import Road
from assay.metrics.roar import Roar
from assay.metrics.sensitivity_n import SensitivityN
from assay.metrics.single_deletion import SingleDeletion
from assay.metrics.soundness import Soundness
from oracles.metrics import literal
from oracles.metrics.scenes import (
    BLOCKS,
    PLAIN,
    Lambda,
    answer,
    image_scene,
    members,
    numbers,
    scene,
    table_scene,
    take,
)

LARGE = Machine(memory=2**24)


def with_rows(where: Scene, count: int) -> Scene:
    """The scene with so many random reference rows."""
    rows = numbers(31, count, *where.setting.features.entries)
    return replace(
        where, setting=replace(where.setting, reference=Reference(rows, torch.zeros(count, dtype=torch.long)))
    )


def mean_answer(where: Scene, row: int, temperature: float | None, rows: Tensor) -> Callable[[np.ndarray, set], float]:
    """The mean over reference rows of what the model says about a sample without some features, one row at a time."""
    ask, features = answer(where, row, temperature), members(where.setting.features)

    def without(x: np.ndarray, removed: set[int]) -> float:
        answers = []
        for reference in rows.numpy():
            image = x.copy()
            for feature in removed:
                image[features[feature]] = reference[features[feature]]
            answers.append(ask(image))
        return sum(answers) / len(answers)

    return without


@pytest.mark.parametrize("where", [with_rows(image_scene(3), 5), with_rows(table_scene(3), 40)], ids=["image", "table"])
@pytest.mark.parametrize("readout", ["probability", "logit"])
@pytest.mark.parametrize("insert", [False, True])
def test_a_point_of_the_curve_is_the_mean_answer_over_the_rows(where: Scene, readout: str, insert: bool) -> None:
    count = len(members(where.setting.features))
    attribution = numbers(32, 3, *where.setting.features.shape)
    direction = "insert" if insert else "delete"
    found = Deletion(steps=4, canvas="rows", readout=readout, direction=direction)(Trial(where, attribution))
    assert where.setting.reference is not None
    rows = few_rows(where.setting.reference.x)
    for row in range(3):
        ask = mean_answer(where, row, 1.0 if readout == "probability" else None, rows)
        order = literal.order(attribution[row].flatten().tolist(), absolute=False)
        counts = [step * count // 4 for step in range(5)]
        removed = [set(order[number:]) if insert else set(order[:number]) for number in counts]
        expected = [ask(where.samples.x[row].numpy(), features) for features in removed]
        np.testing.assert_allclose(found["curve"][row], expected, rtol=1e-9, atol=1e-13)


def test_by_accuracy_a_point_is_the_share_of_rows_with_which_the_true_class_wins() -> None:
    where = with_rows(scene(numbers(30, 6, 7), Lambda(lambda x: x[:, :3]), PLAIN), 40)
    found = Deletion(steps=2, canvas="rows", by="accuracy")(Trial(where, torch.zeros(6, 7)))
    assert where.setting.reference is not None
    rows = few_rows(where.setting.reference.x)
    with torch.no_grad():
        bare = where.setting.model(rows).argmax(dim=1)
        clean = where.setting.model(where.samples.x).argmax(dim=1)
    expected = [float((bare == label).double().mean()) for label in where.samples.label]
    assert found["curve"][:, -1].tolist() == expected
    assert any(0 < share < 1 for share in expected)
    assert found["curve"][:, 0].tolist() == (clean == where.samples.label).double().tolist()


@pytest.mark.parametrize(
    "metric",
    [
        Deletion(readout="logit"),
        Deletion(direction="insert", readout="logit", ties="random"),
        SensitivityN(readout="logit", sets=20),
        SingleDeletion(readout="logit", grid=(2, 3)),
        Infidelity(readout="logit", samples=20),
        Infidelity(readout="logit", samples=20, perturbation="removal", reads="slope"),
    ],
    ids=repr,
)
def test_for_a_linear_model_the_mean_over_rows_is_the_answer_to_the_mean_row(metric: Any) -> None:
    features = BLOCKS
    weights = numbers(33, *features.entries, 3)
    where = with_rows(scene(numbers(34, 4, *features.entries), Lambda(lambda x: x @ weights), features), 9)
    trial = Trial(where, numbers(35, 4, *features.entries))
    found, expected = (replace(metric, canvas=canvas)(trial) for canvas in ("rows", "mean"))
    for name in expected.rows:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("perturbation", ["removal", "square", "region"])
def test_perturbations_that_remove_pixels_have_the_mean_answer_over_the_rows(perturbation: Any) -> None:
    where = with_rows(image_scene(2), 3)
    metric = Infidelity(perturbation=perturbation, samples=6, canvas="rows")
    found = metric.probe(where)["changed"]
    removed = metric._removed(where).flatten(1)
    assert where.setting.reference is not None
    for row in range(2):
        ask = mean_answer(where, row, 1.0, where.setting.reference.x)
        expected = [ask(where.samples.x[row].numpy(), set(one.nonzero()[:, 0].tolist())) for one in removed]
        np.testing.assert_allclose(found[row], expected, rtol=1e-9)


def test_sixteen_rows_are_drawn_once_and_for_all() -> None:
    where = with_rows(table_scene(3), 200)
    assert where.setting.reference is not None
    rows = Removal.of(where, "rows").rows
    assert rows is not None
    assert len(rows) == len(torch.unique(rows, dim=0)) == 16
    known = {tuple(row) for row in where.setting.reference.x.tolist()}
    assert {tuple(row) for row in rows.tolist()} <= known
    other = replace(take(Trial(where, numbers(36, 3, 7)), slice(1, 2)).scene, stream=replace(where.stream, seed=7))
    again = Removal.of(other, "rows", Question("logit")).rows
    assert again is not None
    assert torch.equal(rows, again)
    few = with_rows(where, 16).setting.reference
    assert few is not None
    assert torch.equal(few_rows(few.x), few.x)


def test_one_hot_blocks_come_from_one_row() -> None:
    x = torch.nn.functional.one_hot(torch.arange(2), 2).double().repeat(1, 5)
    assert x.shape == (2, 10)
    groups = replace(BLOCKS, groups=(0, 0, 1, 1, 2, 2, 3, 3, 4, 4))
    where = scene(x, Lambda(lambda x: x[:, :3]), groups)
    removed = numbers(37, 6, 2, 5) > 0
    versions = list(Removal.of(with_reference(where, x.flip(0)), "rows").versions(removed))
    assert len(versions) == 2
    for version in versions:
        assert (version.view(6, 2, 5, 2).sum(dim=-1) == 1).all()


def with_reference(where: Scene, rows: Tensor | None) -> Scene:
    reference = None if rows is None else Reference(rows, torch.zeros(len(rows), dtype=torch.long))
    return replace(where, setting=replace(where.setting, reference=reference))


def test_equal_answers_have_exactly_their_mean() -> None:
    """In float32, a sum of 13 equal numbers is rounded."""
    x = numbers(38, 50, 10).float()
    where = with_rows(scene(x, Lambda(lambda x: x[:, :3] * 0 + 0.1), BLOCKS), 13)
    where = with_reference(where, numbers(39, 13, 10).float())
    curve = Deletion(canvas="rows", readout="logit")(Trial(where, numbers(40, 50, 7)))["curve"]
    assert (curve == float(torch.tensor(0.1))).all()


def test_the_memory_budget_changes_nothing() -> None:
    where = with_rows(image_scene(3), 20)
    trial = Trial(where, numbers(41, 3, 6, 6))
    ample = replace(trial, scene=replace(where, machine=LARGE))
    for metric in (Deletion(canvas="rows"), SingleDeletion(canvas="rows", grid=(2, 2))):
        np.testing.assert_allclose(metric(trial)["value"], metric(ample)["value"], rtol=1e-10)


def test_an_answer_that_one_row_lacks_is_none() -> None:
    where = scene(numbers(42, 2, 7).abs() + 1, Lambda(lambda x: x[:, :3] / x[:, 3:4]), PLAIN)
    where = with_reference(where, torch.cat([torch.ones(3, 7), torch.zeros(1, 7)]).double())
    assert not Deletion(canvas="rows", readout="logit")(Trial(where, torch.ones(2, 7)))["defined"].any()


def test_without_reference_rows_the_message_says_what_to_write() -> None:
    for canvas in ("rows", "colour"):
        with pytest.raises(NotApplicable, match=rf"canvas='{canvas}' needs reference rows.*write canvas='zero'"):
            Deletion(canvas=canvas)(Trial(with_reference(image_scene(2), None), numbers(43, 2, 6, 6)))


@pytest.mark.parametrize(
    "metric",
    [
        Road(canvas="rows"),
        Ids(canvas="rows"),
        Soundness(canvas="rows"),
        Completeness(canvas="rows"),
        AxiomDummy(canvas="rows"),
        AxiomSymmetry(canvas="rows"),
        Infidelity(perturbation="noise", canvas="rows"),
        Infidelity(perturbation="noisy_baseline", canvas="rows"),
    ],
    ids=repr,
)
def test_other_metrics_refuse_the_mean_over_rows(metric: Any) -> None:
    with pytest.raises(NotApplicable, match="write canvas='mean'"):
        metric(Trial(image_scene(2), numbers(44, 2, 2, 6, 6)))


def test_retraining_refuses_the_mean_over_rows() -> None:
    with pytest.raises(NotApplicable, match="write canvas='mean'"):
        Roar(canvas="rows")._removal(image_scene(2))


def test_a_colour_is_each_channels_mean_over_rows_and_positions() -> None:
    where = with_rows(image_scene(3), 4)
    assert where.setting.reference is not None
    pixels = where.setting.reference.x.numpy()
    canvas = Removal.of(where, "colour").query.baseline.numpy()
    for channel in range(2):
        mean = sum(pixels[:, channel].ravel().tolist()) / (4 * 36)
        np.testing.assert_allclose(canvas[:, channel], np.full((3, 6, 6), mean), rtol=1e-12)


def test_only_images_have_colours() -> None:
    with pytest.raises(NotApplicable, match=r"canvas='colour' needs images.*write canvas='zero', or 'mean'"):
        Deletion(canvas="colour")(Trial(table_scene(2), numbers(45, 2, 10)))


def blank(features: Features, value: float) -> Callable[[Tensor, Tensor], Tensor]:
    """A number in place of what is removed, written into the inputs that it gets."""

    def canvas(x: Tensor, keep: Tensor) -> Tensor:
        x[~features.expand(keep)] = value
        return x

    return canvas


@pytest.mark.parametrize(
    "metric",
    [
        Deletion(),
        Deletion(direction="insert", by="accuracy"),
        SensitivityN(sets=10),
        SingleDeletion(grid=(2, 2)),
        Infidelity(samples=10),
        Infidelity(samples=10, perturbation="noisy_baseline"),
        Ids(),
        Road(),
        Completeness(),
        Soundness(steps=4),
        AxiomDummy(),
        AxiomSymmetry(),
    ],
    ids=repr,
)
def test_a_function_that_writes_a_number_is_that_number(metric: Any) -> None:
    where = image_scene(3)
    before = where.samples.x.clone()
    trial = Trial(where, numbers(46, 3, 2, 6, 6))
    found = replace(metric, canvas=blank(where.setting.features, 0.7))(trial)
    expected = replace(metric, canvas=0.7)(trial)
    assert found.rows.keys() == expected.rows.keys()
    for name in expected.rows:
        np.testing.assert_array_equal(found[name], expected[name])
    assert torch.equal(where.samples.x, before)


def test_a_function_sees_every_input_and_which_of_its_features_stay() -> None:
    where = table_scene(3)
    seen: list[tuple[Tensor, Tensor]] = []

    def canvas(x: Tensor, keep: Tensor) -> Tensor:
        seen.append((x.clone(), keep))
        return x

    removal = Removal.of(where, canvas)
    removed = numbers(47, 4, 3, 7) > 0
    removal(removed)
    (_, none), (x, keep) = seen
    assert not none.any()  # the bare canvas, asked for once
    assert torch.equal(x, where.samples.x.repeat(4, 1))
    assert torch.equal(keep, ~removed.flatten(0, 1))


@pytest.mark.parametrize(
    ("canvas", "told"),
    [
        (lambda x, keep: x[:1], r"returned shape \(1, 2, 6, 6\): return that of its inputs, \(3, 2, 6, 6\)"),
        (lambda x, keep: x / 0 * 0, "NaN or infinite"),
        (lambda x, keep: x.numpy(), "returned ndarray: return a torch.Tensor"),
    ],
)
def test_what_a_function_returns_is_checked(canvas: Any, told: str) -> None:
    with pytest.raises(SpecError, match=told):
        Deletion(canvas=canvas)(Trial(image_scene(3), numbers(48, 3, 6, 6)))


def test_a_function_can_be_given_in_python() -> None:
    attributed = assay.attribute("color_count(side=16)", "gradient", n=2)
    features = attributed.setting.features
    found = attributed.score(Deletion(canvas=blank(features, 0.0)))  # type: ignore[arg-type]
    assert found.value == attributed.score(Deletion()).value
