"""Sheets: rows and columns as large as what is in them, and letters that the font has."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from assay.report import contact_sheet
from assay.report.contact_sheet import GAP, MARGIN, SMALL, Sheet, compose, fitted, font, label_column

RED = (200, 0, 0)


def tile(width: int, height: int) -> Image.Image:
    return Image.new("RGB", (width, height), RED)


def red_rows(sheet: Image.Image) -> np.ndarray:
    return np.flatnonzero((np.asarray(sheet) == RED).all(axis=2).any(axis=1))


def test_a_row_is_as_high_as_its_own_pictures_and_a_column_as_wide() -> None:
    low, high = tile(50, 10), tile(400, 200)
    sheet = compose(Sheet("t", ["a", "b"], [[(low, ""), (low, "")], [(low, ""), (high, "")]], [], "note"))
    rows = red_rows(sheet)
    assert len(rows) == 10 + 200
    assert np.diff(rows).max() == GAP + 1
    assert sheet.width == MARGIN + 50 + GAP + 400 + MARGIN


def test_a_name_of_several_lines_has_a_row_that_holds_it() -> None:
    name = "one\ntwo\nthree\nfour"
    sheet = compose(Sheet("t", ["a"], [[(tile(50, 10), "")], [(tile(50, 10), "")]], [name, name], "note"))
    rows = red_rows(sheet)
    assert np.diff(rows).max() > 4 * SMALL


def test_a_reason_in_place_of_a_picture_is_written_in_full() -> None:
    reason = "skipped: needs at most 256 features, because its regression takes several coalitions for each"
    narrow = compose(Sheet("t", ["a"], [[(None, reason)]], [], "note"))
    short = compose(Sheet("t", ["a"], [[(None, "skipped")]], [], "note"))
    assert narrow.height > short.height + 3 * SMALL


def test_only_a_sheet_of_colours_has_their_scale() -> None:
    rows = [[(tile(50, 10), "")]]
    with_scale, without = (compose(Sheet("t", ["a"], rows, [], "note", coloured)) for coloured in (True, False))
    assert with_scale.height - without.height == contact_sheet.SCALE


def test_a_text_that_does_not_fit_loses_its_middle_only() -> None:
    text = "marital status of the applicant = Married-civ-spouse"
    cut = fitted(text, 120)
    assert font(SMALL).getlength(cut) <= 120
    start, end = cut.split("…")
    assert text.startswith(start)
    assert text.endswith(end)
    assert fitted(text, 1000) == text
    assert fitted("a\nb", 100) == "a b"
    assert fitted("abc", 0) == "…"


def test_labels_stand_at_the_right_and_are_as_wide_as_the_longest() -> None:
    column = label_column(["a", "a longer name"], 18, 260)
    assert column.height == 36
    assert column.width == round(font(SMALL).getlength("a longer name")) + 8


def test_english_has_the_font_of_pillow_everywhere() -> None:
    assert font(SMALL, "plain text") is font(SMALL)


@pytest.mark.parametrize("text", ["größer", "Фильм"])
def test_letters_that_this_font_lacks_are_taken_from_one_that_has_them(text: str) -> None:
    others = contact_sheet._fonts(SMALL)[1:]
    able = [typeface for typeface in others if contact_sheet._has(typeface, text)]
    assert not contact_sheet._has(font(SMALL), text)
    assert font(SMALL, text) is (able[0] if able else font(SMALL))


def test_a_text_that_no_font_has_is_drawn_all_the_same() -> None:
    assert font(SMALL, contact_sheet.NO_LETTER) is font(SMALL)
