"""Pictures: the right colour at the right position."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from assay.engine.store.store import Store
from assay.report import contact_sheet
from assay.report.colours import caption, diverging
from assay.report.loaded_run import load_run
from assay.report.pictures import bars, draw_contact_sheet, enlarged, gallery_sheets, picture, span
from assay.report.samples import GallerySamples, gallery_samples, per_feature
from unit.report import made

WHITE = (255, 255, 255)


def colours(values: list[list[float]]) -> np.ndarray:
    return np.asarray(diverging(np.array(values)).convert("RGB")).astype(int)


def test_zero_is_white_above_is_red_below_is_blue() -> None:
    below, zero, above = colours([[-2.0, 0.0, 2.0]])[0]
    assert tuple(zero) == WHITE
    assert above[0] > above[2] + 100
    assert below[2] > below[0] + 100


def test_the_scale_is_symmetric_so_a_small_negative_value_stays_pale() -> None:
    pale, full = colours([[-1.0, 10.0]])[0]
    assert pale.min() > 200
    assert full.min() < 60
    full, pale = colours([[-10.0, 1.0]])[0]
    assert pale.min() > 200
    assert full.min() < 60


def test_colours_keep_the_order_of_the_values() -> None:
    row = colours([list(np.linspace(-1, 1, 21))])[0]
    assert (np.diff(row[:, 0])[:10] >= 0).all()  # less and less blue, up to white
    assert (np.diff(row[:, 2])[10:] <= 0).all()  # more and more red


def test_a_map_does_not_depend_on_its_unit() -> None:
    values = np.random.default_rng(0).normal(size=(5, 7))
    assert diverging(values).tobytes() == diverging(1000 * values).tobytes()


def test_maps_of_one_scale_keep_their_strength() -> None:
    values = np.random.default_rng(0).uniform(size=(5, 7))
    weak, strong = (np.asarray(diverging(factor * values, 1.0).convert("RGB")).astype(int) for factor in (0.3, 1.0))
    assert (weak[..., 2] >= strong[..., 2]).all()
    assert weak.tolist() != strong.tolist()


def test_an_empty_map_is_white_and_its_caption_says_so() -> None:
    assert (colours([[0.0, 0.0]]) == 255).all()
    assert caption(np.zeros((2, 2))) == "0 everywhere"
    assert caption(np.ones((2, 2))) == "1 everywhere"
    assert caption(np.array([-3.0, 1.0])) == "± 3"


def test_rows_and_columns_are_not_exchanged() -> None:
    image = diverging(np.zeros((4, 9)))
    assert image.size == (9, 4)
    assert picture(np.zeros((3, 4, 9)), (0, 255)).size == (9, 4)


@pytest.mark.parametrize(("high", "ends"), [(1.0, (0, 1)), (255.0, (0, 255)), (300.0, (0, 300))])
def test_inputs_keep_their_own_colours(high: float, ends: tuple[float, float]) -> None:
    x = np.zeros((3, 1, 2))
    x[0, 0, 1] = high
    assert span(x) == ends
    assert np.asarray(picture(x, span(x))).tolist() == [[[0, 0, 0], [255, 0, 0]]]


def test_one_channel_is_grey_and_values_below_zero_are_stretched() -> None:
    x = np.array([[[-1.0, 0.0, 1.0]]])
    assert span(x) == (-1, 1)
    assert np.asarray(picture(x, span(x))).tolist() == [[0, 128, 255]]


def test_enlarging_repeats_pixels_and_makes_no_new_colours() -> None:
    small = diverging(np.random.default_rng(0).normal(size=(5, 7)))
    large = enlarged(small, 50)
    assert large.size == (56, 40)
    assert (np.asarray(large)[::8, ::8] == np.asarray(small)).all()
    assert enlarged(large, 20).size == large.size


def test_bars_go_right_and_red_for_positive_left_and_blue_for_negative() -> None:
    pixels = np.asarray(bars(np.array([1.0, -0.5]), height=10, width=100)).astype(int)
    up, down = pixels[5], pixels[15]
    assert tuple(up[25]) == WHITE
    assert tuple(down[75]) == WHITE
    assert up[75][0] > up[75][2]
    assert down[40][2] > down[40][0]
    assert tuple(down[20]) == WHITE  # half as long as the other


def test_attributions_are_added_up_over_the_entries_of_a_feature() -> None:
    image = {"kind": "image", "entries": [3, 2, 2], "features": [2, 2], "groups": []}
    values = np.random.default_rng(0).normal(size=(5, 3, 2, 2))
    assert np.allclose(per_feature(values, image), values[:, 0] + values[:, 1] + values[:, 2])
    assert per_feature(values[:, :1], image).shape == (5, 2, 2)
    table = {"kind": "table", "entries": [4], "features": [3], "groups": [0, 1, 1, 2]}
    assert per_feature(np.array([[1.0, 2.0, 3.0, 4.0]]), table).tolist() == [[1, 5, 4]]
    assert per_feature(np.array([[1.0, 2.0, 3.0]]), table).tolist() == [[1, 2, 3]]
    tokens = {"kind": "tokens", "entries": [2, 3], "features": [2], "groups": []}
    assert per_feature(np.ones((1, 2, 3)), tokens).tolist() == [[3, 3]]


def test_only_samples_that_were_asked_for_are_shown_across_blocks(store: Store) -> None:
    samples = gallery_samples(load_run(store))[0]
    series = next(entry for entry in load_run(store).series(made.SHAPES, "gradient") if entry["seed"] == 0)
    stored = [store.load(store.get(block["trial"]))["attribution"] for block in series["blocks"]]
    assert len(samples) == made.SAMPLES
    assert np.allclose(samples.maps["gradient"], np.concatenate(stored)[:3].sum(axis=1))
    assert samples.maps["my_pkg:Bad"] == "failed: ValueError: NaN & <worse>"
    assert samples.classes == ("cat & dog", "other", "cat & dog")


def test_there_is_one_contact_sheet_per_environment(store: Store, tmp_path: Path) -> None:
    paths = list(gallery_sheets(load_run(store), tmp_path))
    assert [path.name for path in paths] == ["gallery-01-shapes-td-b-bold.png", "gallery-02-rows-100-columns.png"]
    for path in paths:
        with Image.open(path) as image:
            assert image.format == "PNG"
            assert image.width > 7 * 168  # input, truth and five methods


def test_a_contact_sheet_shows_every_map(store: Store) -> None:
    samples = gallery_samples(load_run(store))[0]
    drawn = np.asarray(draw_contact_sheet(samples, list(made.METHODS), {"random_map"}).convert("L"))
    for method in ("gradient", made.IG, "random_map", "grad_cam"):
        tile = enlarged(diverging(samples.maps[method][0])).convert("RGB").convert("L")
        first = np.asarray(tile)[0].tobytes()
        assert any(first in row.tobytes() for row in drawn)


def test_a_contact_sheet_without_samples_says_why() -> None:
    assert np.asarray(draw_contact_sheet(GallerySamples("e", reason="the samples failed"), [])).min() < 100


def test_long_labels_are_wrapped_after_marks_and_lose_no_letter() -> None:
    lines = contact_sheet._wrapped("smoothed(of=integrated_gradients, samples=20)", 150, 17)
    assert len(lines) > 1
    assert "".join(lines).replace(" ", "") == "smoothed(of=integrated_gradients,samples=20)"
    assert all(contact_sheet.font(17).getlength(line) <= 150 for line in lines)
    assert "".join(contact_sheet._wrapped("x" * 100, 80, 17)) == "x" * 100
