"""Rect, against a loop over pixels."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor

import pytest
import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.methods.crafted import Rectangle
from scenes import ask, cnn, data, mlp


@dataclass(frozen=True, eq=False)
class Given:
    """Answers with the same numbers whatever it is asked."""

    attribution: Tensor

    def __call__(self, query):
        return self.attribution


def query(count):
    return ask(cnn(), data(count, 2, 8, 8))


def literal(attribution, height, width, weights):
    """The box of one map (channels, rows, columns), pixel by pixel; lengths in pixels."""
    channels, rows, columns = attribution.shape
    total = down = across = 0.0
    for row in range(rows):
        for column in range(columns):
            entries = [attribution[channel, row, column].item() for channel in range(channels)]
            weight = sum(abs(entry) for entry in entries) if weights == "absolute" else max(sum(entries), 0.0)
            total += weight
            down += weight * row
            across += weight * column
    top = floor(down / total + 0.5 - height / 2 + 0.5)
    left = floor(across / total + 0.5 - width / 2 + 0.5)
    box = torch.zeros(rows, columns)
    for row in range(rows):
        for column in range(columns):
            box[row, column] = float(top <= row < top + height and left <= column < left + width)
    return box


@pytest.mark.parametrize("weights", ["absolute", "positive"])
@pytest.mark.parametrize("height, width", [(3, 3), (2, 5), (8, 4), (1, 1)])
def test_the_box_is_the_literal_loop(height, width, weights):
    maps = data(12, 2, 8, 8, seed=3) ** 3
    maps[:6, :, 4:] *= 0.05  # so that boxes lie at different places, also beyond the border
    maps[3:9, :, :, :5] *= 0.02
    found = Rectangle(Given(maps), height / 8, width / 8, weights)(query(12))
    expected = torch.stack([literal(one.double(), height, width, weights) for one in maps])
    assert torch.equal(found, expected)
    assert len({box.numpy().tobytes() for box in found}) > (1 if height == 8 else 2)


def test_the_two_weights_put_the_box_at_different_places():
    maps = torch.zeros(1, 2, 8, 8)
    maps[0, :, 1, 1], maps[0, :, 6, 6] = 1.0, -3.0
    maps[0, 0, 2, 5], maps[0, 1, 2, 5] = 4.0, -4.0  # cancels between channels
    positive = Rectangle(Given(maps), 1 / 8, 1 / 8, "positive")(query(1))[0]
    assert positive.nonzero().tolist() == [[1, 1]]
    absolute = Rectangle(Given(maps), 1 / 8, 1 / 8)(query(1))[0]
    assert absolute.nonzero().tolist() == [[3, 5]]  # rows (2 + 36 + 16) / 16 = 3.4, columns (2 + 36 + 40) / 16 = 4.9


def test_a_box_that_reaches_beyond_the_border_is_cut_off():
    maps = torch.zeros(1, 2, 8, 8)
    maps[0, 0, 0, 7] = 2.0
    box = Rectangle(Given(maps), 5 / 8, 3 / 8)(query(1))[0]
    assert torch.equal(box.nonzero().amax(dim=0), torch.tensor([2, 7]))
    assert torch.equal(box.nonzero().amin(dim=0), torch.tensor([0, 6]))
    assert box.sum() == 6


@pytest.mark.parametrize("value", [0.0, 0.1, 1.0])
def test_without_a_centre_of_its_own_a_map_has_the_box_in_the_middle(value):
    boxes = Rectangle(Given(torch.full((2, 2, 8, 8), value)), 0.5, 0.25)(query(2))
    for box in boxes:
        assert torch.equal(box.nonzero().amin(dim=0), torch.tensor([2, 3]))
        assert torch.equal(box.nonzero().amax(dim=0), torch.tensor([5, 4]))


def test_the_box_of_the_paper_has_60_of_224_pixels_a_side():
    rectangle = Rectangle()
    assert (round(224 * rectangle.height), round(224 * rectangle.width)) == (60, 60)


def test_where_it_does_not_apply():
    with pytest.raises(NotApplicable, match="needs an image, and this is table data"):
        Rectangle()(ask(mlp(), data(1, 6)))
    for shares in ((0.0, 0.5), (0.5, 1.5), (-0.1, 0.5)):
        with pytest.raises(SpecError, match="above 0 and at most 1"):
            Rectangle(height=shares[0], width=shares[1])
