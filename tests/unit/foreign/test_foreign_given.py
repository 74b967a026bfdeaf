"""Attributions in memory: arrays, tensors, frames, explanations."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from assay.core.errors import BadAttribution, NotApplicable, SpecError
from assay.core.features import Columns
from assay.engine.artifacts.answer import attribute, make_explainer
from assay.foreign.given import given_array
from scenes import ask, cnn, data, mlp

TABLE = ask(mlp(), data(5, 6))  # targets 0, 1, 2, 0, 1
IMAGES = ask(cnn(), data(3, 2, 8, 8))
MAPS = np.arange(30.0).reshape(5, 6)

FORMS = {
    "array": MAPS,
    "tensor": torch.tensor(MAPS, requires_grad=True),
    "frame": pd.DataFrame(MAPS),
    "lists": MAPS.tolist(),
    "whole numbers": MAPS.astype(int),
    "by class": np.stack([MAPS, MAPS + 1, MAPS + 2], axis=-1) - np.arange(5)[:, None, None] % 3,
    "one class": MAPS[..., None],
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_numbers_are_taken_in_every_form(form):
    found = attribute(given_array(form), TABLE)
    assert torch.equal(found, torch.tensor(MAPS, dtype=torch.float32))


@pytest.mark.parametrize(
    "thing", ["gradient", ["gradient"], 3, None, {"a": MAPS}, [[1.0], [1.0, 2.0]], len, np.array("a")]
)
def test_other_things_are_no_numbers(thing):
    assert given_array(thing) is None


SHAPES = {"input": (3, 2, 8, 8), "pixels": (3, 8, 8), "one channel": (3, 1, 8, 8), "classes": (3, 8, 8, 3)}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_maps_of_images_are_taken_in_every_shape(shape):
    values = data(*shape).numpy()
    method = given_array(values)
    method.check_fits(IMAGES.setting, IMAGES.x)
    expected = np.stack([values[row, ..., row] for row in range(3)]) if shape[-1] == 3 else values
    assert torch.equal(attribute(method, IMAGES), torch.tensor(expected))


WRONG = {
    (5, 5): r"has rows of shape \(5,\), and the model reads rows of \(6,\); expected \(6,\) or \(1, 6\)",
    (5, 6, 4): r"has rows of shape \(6, 4\), 4 classes at the end, and the model has 3 outputs",
    (7, 6): r"has shape \(7, 6\), and x has shape \(5, 6\): 7 rows for 5",
    (0, 6): "has no rows",
}


@pytest.mark.parametrize("shape, words", WRONG.items())
def test_wrong_shapes_are_refused_with_both_shapes(shape, words):
    with pytest.raises(SpecError, match=words):
        given_array(np.ones(shape)).check_fits(TABLE.setting, TABLE.x)


def test_channels_at_the_end_are_not_taken_for_classes():
    with pytest.raises(
        SpecError, match=r"rows of shape \(8, 8, 2\): are channels at the end\? They come first; expected \(2, 8, 8\)"
    ):
        given_array(np.ones((3, 8, 8, 2))).check_fits(IMAGES.setting, IMAGES.x)


def test_numbers_that_are_none_are_refused_with_their_rows():
    values = MAPS.copy()
    values[[1, 3], 2] = np.nan, np.inf
    with pytest.raises(SpecError, match=r"has NaN or infinite values in 2 of 5 rows: 1, 3\."):
        given_array(values).check_fits(TABLE.setting, TABLE.x)


def test_columns_in_another_order_are_refused():
    named = replace(TABLE.setting, features=Columns.plain(6, tuple("abcdef")))
    given_array(pd.DataFrame(MAPS, columns=list("abcdef"))).check_fits(named, TABLE.x)
    given_array(pd.DataFrame(MAPS)).check_fits(named, TABLE.x)
    with pytest.raises(SpecError, match=r"columns of x in another order: write maps\[list\(x.columns\)\]"):
        given_array(pd.DataFrame(MAPS, columns=list("abcdfe"))).check_fits(named, TABLE.x)


def test_a_row_goes_to_the_row_of_the_data_that_the_sample_is():
    drawn = replace(TABLE, data_rows=(3, 0, 4, 1, 2))
    assert torch.equal(attribute(given_array(MAPS), drawn), torch.tensor(MAPS[[3, 0, 4, 1, 2]], dtype=torch.float32))
    some = drawn.take(torch.tensor([4, 0]))
    assert torch.equal(attribute(given_array(MAPS), some), torch.tensor(MAPS[[2, 3]], dtype=torch.float32))
    with pytest.raises(NotApplicable, match="needs a row for sample 4, and the array has 4"):
        attribute(given_array(MAPS[:4]), drawn)


def test_given_numbers_cannot_be_asked_again():
    assert make_explainer(given_array(MAPS), TABLE) is None


def test_a_wrong_shape_is_told_wherever_it_is_met():
    with pytest.raises(BadAttribution, match=r"has rows of shape \(5,\)"):
        attribute(given_array(np.ones((5, 5))), TABLE)


def explanation(values, base, rows=None):
    return SimpleNamespace(values=values, base_values=base, data=rows)


def test_an_explanation_of_other_rows_is_refused():
    x = TABLE.x.double().numpy()
    given_array(explanation(MAPS, None, x + 1e-9)).check_fits(TABLE.setting, TABLE.x)
    with pytest.raises(SpecError, match="explains other rows than x: its data differ in 2 of 5 rows: 0, 4"):
        given_array(explanation(MAPS, None, x[[4, 1, 2, 3, 0]])).check_fits(TABLE.setting, TABLE.x)
