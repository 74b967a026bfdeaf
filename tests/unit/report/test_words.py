"""Coloured words: the right colour behind the right word, in pictures and in HTML, and nothing left out unsaid."""

from __future__ import annotations

import re

import numpy as np
import pytest

from assay.report.colours import colour, css, letters_on
from assay.report.words import LINE, MOST, WIDTH, coloured, draw_words, scale_html, words_html

RED, BLUE, WHITE = (169, 20, 39), (28, 78, 158), (255, 255, 255)


def test_words_that_raise_the_answer_are_red_and_those_that_lower_it_blue() -> None:
    words = coloured(["up", "down", "none", "half"], np.array([2.0, -2.0, 0.0, 1.0]))
    assert [word.background for word in words[:3]] == [RED, BLUE, WHITE]
    assert words[3].background == colour(1.0, 2.0)
    assert [word.value for word in words] == [2, -2, 0, 1]


def test_words_on_one_scale_keep_their_strength() -> None:
    (alone,), (weak,) = coloured(["a"], np.array([0.5])), coloured(["a"], np.array([0.5]), 1.0)
    assert alone.background == RED
    assert weak.background == colour(0.5, 1.0)


@pytest.mark.parametrize("value", np.linspace(-1, 1, 41).tolist())
def test_letters_stand_out_from_every_colour(value: float) -> None:
    def luminance(rgb: tuple[int, int, int]) -> float:
        linear = [(part / 255 / 12.92) if part <= 10 else ((part / 255 + 0.055) / 1.055) ** 2.4 for part in rgb]
        return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))

    background = colour(value, 1.0)
    low, high = sorted((luminance(background), luminance(letters_on(background))))
    assert (high + 0.05) / (low + 0.05) > 3.5  # the least for large letters is 3


def test_what_is_not_drawn_is_added_up() -> None:
    values = np.ones(MOST + 5)
    words = coloured([f"w{index}" for index in range(MOST + 5)], values)
    assert len(words) == MOST + 1
    assert (words[-1].text, words[-1].value) == ("… and 5 more, sum 5", 5.0)
    padded = coloured(["one", "two"], np.array([1.0, 2.0, 0.0, -4.0]))
    assert [word.text for word in padded] == ["one", "two", "… and 2 more, sum -4"]


def test_positions_beyond_the_end_of_a_text_are_left_out_where_they_are_0_up_to_rounding() -> None:
    assert len(coloured(["one", "two"], np.array([1.0, 2.0, 0.0, 0.0]))) == 2
    assert len(coloured(["one", "two"], np.array([1.0, 2.0, 1e-9, -1e-9]))) == 2
    assert len(coloured(["one", "two"], np.zeros(4))) == 2


def test_every_word_is_drawn_on_its_colour_and_lines_are_as_wide_as_they_may_be() -> None:
    texts = [f"word{index}" for index in range(40)]
    values = np.where(np.arange(40) == 30, -1.0, 0.0)
    picture = draw_words(coloured(texts, values))
    pixels = np.asarray(picture)
    assert picture.width == WIDTH
    assert picture.height > 3 * LINE
    blue = np.argwhere((pixels == BLUE).all(axis=2))
    first_line = draw_words(coloured(texts[:5], values[:5]))
    assert first_line.height == LINE
    assert blue[:, 0].min() > LINE  # word 30 is not on the first line
    assert np.ptp(blue[:, 0]) < LINE
    assert not (pixels[:, -1] != 255).any()


def test_a_word_longer_than_a_line_loses_its_middle() -> None:
    picture = draw_words(coloured(["x" * 500, "b"], np.array([1.0, -1.0])))
    pixels = np.asarray(picture)
    assert picture.height == 2 * LINE
    assert (pixels[:LINE] == RED).all(axis=2).any()
    assert (pixels[LINE:] == BLUE).all(axis=2).any()
    assert draw_words(()).size == (WIDTH, LINE)


def test_html_has_the_colours_and_numbers_and_escapes_all_text() -> None:
    html = words_html(coloured(["<script>", "a & b"], np.array([0.25, -1.0])))
    assert "<script>" not in html
    assert re.findall(r'title="(.*?)"', html) == ["0.25", "-1"]
    assert re.findall(r">([^<>]+)</span>", html) == ["&lt;script&gt;", "a &amp; b"]
    assert f"background:{css(BLUE)};color:#ffffff" in html


def test_the_scale_says_its_ends_and_that_white_is_0() -> None:
    assert "−0.301" in scale_html(0.301)
    assert "+0.301, white is 0" in scale_html(0.301)
    assert css(RED) in scale_html(1.0)
    assert css(WHITE) in scale_html(1.0)
    assert scale_html(0.0) == "<small>0 everywhere</small>"
