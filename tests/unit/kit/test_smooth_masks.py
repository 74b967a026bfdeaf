"""Smooth masks: the published sizes, values at single pixels, slopes, and which pixels are the largest."""

from __future__ import annotations

from math import exp, hypot

import pytest
import torch

from assay.kit.smooth_masks import SmoothMask, largest_pixels

PUBLISHED = SmoothMask(224, 224, 7, 21.0)


def drawn(*shape, seed=0):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_sizes_are_the_published_ones():
    assert PUBLISHED.grid == (32, 32)
    assert (2 * PUBLISHED.reach + 1, PUBLISHED.margin) == (9, 21)
    canvas = PUBLISHED.canvas(drawn(1, 32, 32))
    assert canvas.shape == (1, 260, 260)
    assert torch.equal(PUBLISHED.image(canvas), canvas[:, 21:245, 21:245])


@pytest.mark.parametrize("y, x", [(0, 0), (259, 259), (21, 21), (130, 6), (7, 251), (100, 201), (48, 49)])
def test_a_pixel_is_the_smooth_maximum_of_9_x_9_numbers(y, x):
    """Numbers lie at 21, 28, ..., 238; a pixel sees those from 4 before to 4 after the last one that it has passed."""
    numbers = drawn(2, 32, 32)
    above = below = 0.0
    for i in range((y - 21) // 7 - 4, (y - 21) // 7 + 5):
        for j in range((x - 21) // 7 - 4, (x - 21) // 7 + 5):
            distance = hypot(y - 21 - 7 * i, x - 21 - 7 * j)
            number = numbers[1, i, j].item() if 0 <= i < 32 and 0 <= j < 32 else 0.0
            value = number * exp(-2 * max(distance / 21 - 0.5, 0) ** 2)
            above, below = above + value * exp(20 * value), below + exp(20 * value)
    assert PUBLISHED.canvas(numbers)[1, y, x].item() == pytest.approx(above / below, rel=1e-12)


@pytest.mark.parametrize("height, width, step, sigma", [(5, 6, 2, 3.0), (5, 4, 1, 1.5), (4, 6, 5, 2.0)])
def test_slopes_are_those_of_small_differences(height, width, step, sigma):
    smooth = SmoothMask(height, width, step, sigma)
    assert torch.autograd.gradcheck(smooth.canvas, drawn(2, *smooth.grid).requires_grad_())
    assert smooth.image(smooth.canvas(drawn(2, *smooth.grid))).shape == (2, height, width)


@pytest.mark.parametrize("area", [0.03, 0.1, 0.5, 0.97])
def test_the_largest_are_the_last_of_a_stable_sort(area):
    masks = torch.cat([drawn(2, 12, 10), (drawn(2, 12, 10, seed=1) * 8).round() / 8])
    order = (masks.flatten(1) * 2**13).round().sort(dim=1, stable=True).indices
    expected = torch.zeros(4, 120, dtype=torch.bool).scatter(1, order[:, int(120 * (1 - area)) :], True)
    assert torch.equal(largest_pixels(masks, area), expected.view(4, 12, 10))


def test_rounding_errors_do_not_order_pixels():
    masks = torch.full((1, 10, 10), 0.3)
    noisy = masks + 1e-7 * drawn(1, 10, 10).float()
    assert torch.equal(largest_pixels(noisy, 0.2), largest_pixels(masks, 0.2))
    assert largest_pixels(noisy, 0.2).sum() == 20


def test_all_are_the_largest_of_the_whole_area():
    assert largest_pixels(drawn(1, 3, 3), 0.99).sum() == 9


def test_a_mask_never_reaches_1():
    """Not even where all numbers are 1; at the edge of the image it is less, at that of the canvas least."""
    canvas = PUBLISHED.canvas(torch.ones(1, 32, 32, dtype=torch.float64))[0]
    assert 0.99 < canvas.max() < 1
    assert canvas[130, 0] < canvas[130, 21] < canvas[130, 130]
