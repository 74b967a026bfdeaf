"""The symmetric relevance gain is insertion minus deletion, and 0 for orders that know nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.features import Columns
from assay.core.trial import Trial
from assay.metrics.deletion import Deletion
from assay.metrics.symmetric_relevance_gain import SymmetricRelevanceGain
from oracles.metrics.scenes import Lambda, image_scene, numbers, scene, table_scene


def half(x: Tensor, keep: Tensor) -> Tensor:
    """A canvas function for images: what is removed has half its value."""
    return torch.where(keep[:, None], x, x / 2)


@pytest.mark.parametrize("canvas", ["zero", "true", "mean", "colour", "uniform", "blur", "rows", 0.3, half])
@pytest.mark.parametrize("readout", ["probability", "logit", "margin"])
def test_it_is_insertion_minus_deletion(canvas: Any, readout: Any) -> None:
    """Thirty-six features in twelve steps: even counts are symmetric."""
    trial = Trial(image_scene(3), numbers(51, 3, 6, 6))
    found = SymmetricRelevanceGain(steps=12, canvas=canvas, readout=readout)(trial)["value"]
    insertion, deletion = (
        Deletion(direction=direction, steps=12, canvas=canvas, readout=readout, ties="random")(trial)["value"]
        for direction in ("insert", "delete")
    )
    np.testing.assert_allclose(found, insertion - deletion, rtol=1e-9, atol=1e-12)


def test_pixels_can_be_imputed_because_some_are_always_left() -> None:
    trial = Trial(image_scene(3), numbers(51, 3, 6, 6))
    found = SymmetricRelevanceGain(canvas="impute")(trial)
    assert found["defined"].all()
    assert (found["value"] != SymmetricRelevanceGain()(trial)["value"]).all()


def test_the_bare_canvas_is_not_asked_about() -> None:
    """A model without an answer to zeros has a gain, and no deletion."""
    where = scene(
        numbers(52, 3, 7).abs() + 1, Lambda(lambda x: x[:, :3] / x.sum(dim=1, keepdim=True)), Columns.plain(7)
    )
    trial = Trial(where, numbers(53, 3, 7))
    assert SymmetricRelevanceGain(readout="logit")(trial)["defined"].all()
    assert not Deletion(readout="logit")(trial)["defined"].any()


def test_a_sample_without_a_finite_answer_is_undefined() -> None:
    x = numbers(54, 2, 7).abs() + 1
    x[1, :6] = 0
    where = scene(x, Lambda(lambda x: x[:, :3] / x.sum(dim=1, keepdim=True)), Columns.plain(7))
    assert SymmetricRelevanceGain(readout="logit")(Trial(where, numbers(53, 2, 7)))["defined"].tolist() == [True, False]


def test_where_there_is_no_order_to_judge_it_says_so() -> None:
    with pytest.raises(SpecError, match="steps=1"):
        SymmetricRelevanceGain(steps=1)
    where = table_scene(2, features=Columns((0, 0)))
    with pytest.raises(NotApplicable, match="at least two features"):
        SymmetricRelevanceGain()(Trial(where, numbers(55, 2, 1)))
