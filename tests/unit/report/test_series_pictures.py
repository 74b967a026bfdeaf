"""Series: lines and strips of colours share their time, and no step is lost."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from assay.core.features import Steps
from assay.report.colours import colour
from assay.report.series import CHANNELS, GAP, GUTTER, LANE, STRIP, WIDTH, Layout, largest, lines, strip

WAYS = [(first, by) for first in (True, False) for by in ("steps", "channels", "both")]


@pytest.mark.parametrize(("first", "by"), WAYS)
def test_entries_are_added_up_as_the_features_do(first: bool, by: str) -> None:
    features, layout = Steps(3, 5, first, by), Layout(first, by)  # type: ignore[arg-type]
    entries = torch.randn(4, *features.entries, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    np.testing.assert_allclose(layout.pooled(entries.numpy()), features.pool(entries).numpy(), rtol=1e-12)


@pytest.mark.parametrize(("first", "by"), WAYS)
def test_rows_of_a_map_stand_below_the_steps_and_channels_that_they_are_about(first: bool, by: str) -> None:
    features, layout = Steps(3, 5, first, by), Layout(first, by)  # type: ignore[arg-type]
    values = np.arange(float(np.prod(features.shape))).reshape(features.shape)
    rows = layout.rows(values, 5)
    assert rows.shape == ((1, 5) if by == "steps" else (3, 5))
    spread = layout.lines(features.expand(torch.from_numpy(values)).numpy())  # (channels, steps)
    assert (spread == rows).all()


def test_facts_of_other_data_have_no_layout() -> None:
    assert Layout.of(None) is None
    assert Layout.of({"channels_first": False, "by": "both"}) == Layout(False, "both")


def test_a_step_has_its_colour_below_its_place_in_the_line() -> None:
    values = np.zeros((1, 8))
    values[0, 2], values[0, 5] = 1.0, -0.5
    pixels = np.asarray(strip(values, ["all"], 1.0))
    assert pixels.shape == (STRIP, GUTTER + WIDTH, 3)
    middles = [GUTTER + int((step + 0.5) * WIDTH / 8) for step in range(8)]
    expected = [colour(float(value), 1.0) for value in values[0]]
    assert [tuple(pixels[STRIP // 2, middle]) for middle in middles] == expected

    x = np.zeros((1, 8))
    x[0, 2] = 1.0
    drawn = np.asarray(lines(x, ["a"], 1).convert("L")).astype(int)
    dark = np.argwhere(drawn[6 : LANE // 2, GUTTER + 2 : GUTTER + WIDTH - 2] < 100)[:, 1] + GUTTER + 2
    assert abs(dark.mean() - middles[2]) < 2  # the peak
    assert abs(dark - middles[2]).max() < WIDTH / 8


def test_of_more_steps_than_pixels_the_strongest_stay() -> None:
    values = np.full((2, 5000), 0.01)
    values[1, 3210] = -3.0
    pixels = np.asarray(strip(values, ["a", "b"], 3.0))
    found = np.argwhere((pixels == colour(-3.0, 3.0)).all(axis=2))
    assert set(found[:, 0]) <= set(range(STRIP, 2 * STRIP))
    assert len(set(found[:, 1])) == 1
    assert found[0, 1] == pytest.approx(GUTTER + 3210 / 5000 * WIDTH, abs=1.5)


@pytest.mark.parametrize("steps", [1, 2, WIDTH, WIDTH + 1, 3 * WIDTH])
def test_any_number_of_steps_is_drawn_and_so_is_a_constant_channel(steps: int) -> None:
    x = np.stack([np.zeros(steps), np.arange(float(steps))])
    picture = lines(x, ["flat", "rising"], 2)
    assert picture.height == pytest.approx(2 * (LANE + GAP), abs=20)
    pixels = np.asarray(picture.convert("L"))
    middle = pixels[LANE // 2 - 2 : LANE // 2 + 2, GUTTER + WIDTH // 2].min()
    assert middle < 120  # the constant one, in the middle of its lane
    assert strip(x, ["flat", "rising"], 1.0).size == (GUTTER + WIDTH, 2 * STRIP)


def test_of_many_channels_those_of_the_largest_values_are_drawn_in_their_order() -> None:
    weights = np.zeros(20)
    weights[[19, 3]] = [2.0, 1.0]
    chosen = largest(weights)
    assert len(chosen) == CHANNELS
    assert chosen == sorted(chosen)
    assert {3, 19} <= set(chosen)
    assert largest(np.zeros(20)) == list(range(CHANNELS))


def test_a_name_that_is_too_long_stays_in_the_gutter() -> None:
    x = np.zeros((1, 4))
    plain, long = (np.asarray(lines(x, [name], 1)) for name in ("", "a very long name of a channel, and more of it"))
    assert (plain[:, GUTTER:] == long[:, GUTTER:]).all()
    assert (plain != long).any()
