"""What stands where a feature was removed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from assay.core.errors import NotApplicable, SpecError
from assay.core.evidence import mean_score
from assay.core.features import Pixels
from assay.core.question import Question
from assay.core.setting import Reference
from assay.core.trial import Trial
from assay.kit.blur import gaussian_kernel
from assay.metrics._removal import REACH, SIGMA, Removal
from assay.metrics.completeness import Completeness
from assay.metrics.deletion import Deletion
from assay.metrics.ids import Ids
from assay.metrics.road import Road
from assay.metrics.sensitivity_n import SensitivityN
from assay.metrics.soundness import Soundness
from oracles.metrics import literal_soco
from oracles.metrics.scenes import Lambda, image_scene, numbers, scene, table_scene, take


def test_the_blur_is_the_published_one_at_224_pixels() -> None:
    kernel = gaussian_kernel(SIGMA, torch.zeros(1, dtype=torch.float64), REACH)
    offsets = np.arange(51) - 25
    published = np.exp(-((offsets / (2 * 41)) ** 2))
    np.testing.assert_allclose(kernel.numpy(), published / published.sum(), rtol=1e-12)


def test_the_blur_shrinks_with_the_image_and_meets_zeros_outside() -> None:
    where = scene(numbers(1, 2, 1, 20, 30), Lambda(lambda x: x.flatten(1)[:, :3]), Pixels(1, 20, 30))
    canvas = Removal.of(where, "blur", Question("logit")).query.baseline
    for row in range(2):
        expected = literal_soco.idsds_blur(where.samples.x[row].numpy())
        np.testing.assert_allclose(canvas[row].numpy(), expected, rtol=1e-9)


def test_noise_is_uniform_each_samples_own_and_the_same_in_every_block() -> None:
    where = scene(numbers(1, 40, 1, 9, 9), Lambda(lambda x: x.flatten(1)[:, :3]), Pixels(1, 9, 9))
    canvas = Removal.of(where, "noise", Question("logit")).query.baseline
    assert canvas.min() >= -1
    assert canvas.max() < 1
    assert abs(float(canvas.mean())) < 5 * (1 / 3 / canvas.numel()) ** 0.5
    assert abs(float(canvas.square().mean()) - 1 / 3) < 5 * (4 / 45 / canvas.numel()) ** 0.5
    assert len({float(value) for value in canvas[:, 0, 0, 0]}) == 40
    later = take(Trial(where, numbers(2, 40, 9, 9)), slice(30, 40)).scene
    assert torch.equal(Removal.of(later, "noise", Question("logit")).query.baseline, canvas[30:])


def test_an_unknown_canvas_is_told_with_the_known_ones() -> None:
    with pytest.raises(SpecError, match=r"Did you mean 'blur'.*impute or a number"):
        Deletion(canvas="blurr")(Trial(image_scene(2), numbers(2, 2, 6, 6)))


@pytest.mark.parametrize("metric", [Completeness(), Soundness(), Road(), Deletion(canvas="impute"), Ids(canvas="blur")])
def test_tables_have_no_neighbours_to_impute_from(metric: Any) -> None:
    with pytest.raises(NotApplicable, match=r"images.*write canvas='zero', or 'mean'"):
        metric(Trial(table_scene(2), numbers(2, 2, 10)))


@pytest.mark.parametrize(
    "metric", [Deletion(direction="insert", canvas="impute"), SensitivityN(canvas="impute")], ids=repr
)
def test_a_whole_canvas_cannot_be_imputed(metric: Any) -> None:
    with pytest.raises(NotApplicable, match="write"):
        metric(Trial(image_scene(2), numbers(2, 2, 6, 6)))


@pytest.mark.parametrize(
    "metric",
    [
        Soundness(canvas="zero"),
        Road(canvas="zero"),
        Deletion(by="accuracy"),
        Deletion(direction="insert", by="accuracy"),
    ],
)
def test_accuracy_needs_classes(metric: Any) -> None:
    where = table_scene(2)
    value = replace(where, setting=replace(where.setting, outputs="value"))
    with pytest.raises(NotApplicable, match="classifier"):
        metric(Trial(value, numbers(2, 2, 10)))


@pytest.mark.parametrize("made", [lambda: Road(ratios=()), lambda: Road(ratios=(1.2,)), lambda: Soundness(first=1.0)])
def test_what_makes_no_curve_is_refused(made: Any) -> None:
    with pytest.raises(SpecError):
        made()


def test_removed_pixels_are_the_mean_of_their_neighbours_and_noise_that_stays() -> None:
    where = image_scene(3)
    removal = Removal.of(where, "impute", Question("logit"), 0.01)
    removed = torch.stack(
        [numbers(3, 3, 6, 6) > 0.5, numbers(3, 3, 6, 6) > -0.5, torch.ones(3, 6, 6, dtype=torch.bool)]
    )
    found = removal(removed)
    assert removal.noise is not None
    for step in range(3):
        for row in range(3):
            x, gone = where.samples.x[row].numpy(), removed[step, row].flatten().nonzero()[:, 0].tolist()
            expected = literal_soco.imputed(x, gone)
            noise = torch.where(removed[step, row], removal.noise[row], 0.0).numpy()
            np.testing.assert_allclose(found[step, row].numpy(), expected + noise, atol=1e-3)
    assert torch.equal(found[1][:, :, ~removed[1].any(dim=0)], where.samples.x[:, :, ~removed[1].any(dim=0)])
    assert 0.008 < float(removal.noise.std()) < 0.012


def test_without_removal_imputed_accuracy_is_the_clean_one() -> None:
    where = image_scene(9)
    query = where.ask()
    clean = (query.outputs(query.x).argmax(dim=1) == where.samples.label).double().mean()
    found = Road(ratios=(0.0,))(Trial(where, numbers(2, 9, 6, 6)))
    assert mean_score(found).value == float(clean)


def test_a_row_of_the_reference_is_drawn_for_each_sample_and_is_the_same_in_every_block() -> None:
    where = table_scene(6)
    reference = Reference(numbers(7, 40, *where.samples.x.shape[1:]), torch.zeros(40, dtype=torch.long))
    where = replace(where, setting=replace(where.setting, reference=reference))
    canvas = Removal.of(where, "row", Question("logit")).query.baseline
    drawn = [(reference.x == row).all(dim=1).nonzero()[:, 0].tolist() for row in canvas]
    assert all(len(found) == 1 for found in drawn)
    assert len({found[0] for found in drawn}) > 1
    some = take(Trial(where, where.samples.x), slice(2, 4)).scene
    assert torch.equal(Removal.of(some, "row", Question("logit")).query.baseline, canvas[2:4])
