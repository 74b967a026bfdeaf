"""Blurred levels, and images mixed from them."""

from __future__ import annotations

from math import ceil

import pytest
import torch
from scipy.ndimage import gaussian_filter
from torch.testing import assert_close

from assay.kit.blur import mix_levels, pyramid


def drawn(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.mark.parametrize("sigma", [0.3, 1.4, 9.0])
def test_levels_are_scipys_blur(sigma):
    images = drawn(2, 3, 12, 17)
    levels = pyramid(images, 5, sigma)
    for level in range(4):
        level_sigma = sigma * (1 - level / 4)
        expected = gaussian_filter(
            images.numpy(), level_sigma, mode="constant", radius=ceil(4 * level_sigma), axes=(2, 3)
        )
        assert_close(levels[:, level], torch.from_numpy(expected), rtol=1e-12, atol=1e-12)
    assert torch.equal(levels[:, 4], images)


def test_a_mask_picks_levels_and_mixes_neighbours():
    levels = drawn(1, 5, 2, 1, 4)
    mask = torch.tensor([[[0.0, 0.25, 0.3, 1.0]]], dtype=torch.float64)
    mixed = mix_levels(levels, mask)[0, :, 0]
    parts = levels[0, :, :, 0]
    expected = [parts[0, :, 0], parts[1, :, 1], 0.8 * parts[1, :, 2] + 0.2 * parts[2, :, 2], parts[4, :, 3]]
    assert_close(mixed, torch.stack(expected, dim=1), rtol=1e-12, atol=1e-12)


def test_the_slope_leads_to_the_next_level_and_nowhere_from_the_last():
    levels = drawn(1, 5, 2, 1, 3)
    mask = torch.tensor([[[0.25, 0.9, 1.0]]], dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(mix_levels(levels, mask).sum(), mask)
    change = 4 * levels[0, :, :, 0].diff(dim=0).sum(dim=1)  # (4 pairs, 3 pixels)
    assert_close(slope[0, 0], torch.stack([change[1, 0], change[3, 1], torch.zeros(()).double()]), rtol=1e-12, atol=0)
