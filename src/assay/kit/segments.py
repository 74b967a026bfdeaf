"""Segments of images: label maps (B, H, W), whole numbers, by quickshift, by felzenszwalb, or by equal colour."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from torch import Tensor


def rgb_pictures(x: Tensor) -> Tensor:
    """Images (B, C, H, W) as RGB pictures: smallest entry 0, largest 1. Without three channels: their mean, as grey."""
    rgb = x if x.shape[1] == 3 else x.mean(dim=1, keepdim=True).expand(-1, 3, -1, -1)
    low, high = rgb.amin(dim=(1, 2, 3), keepdim=True), rgb.amax(dim=(1, 2, 3), keepdim=True)
    return torch.where(high > low, (rgb - low) / (high - low), 0)


def quickshift(pictures: Tensor, seeds: Sequence[int], kernel_size: float, max_dist: float, ratio: float) -> Tensor:
    """Quick shift (Vedaldi and Soatto, 2008) by scikit-image; a picture's seed breaks ties between densities."""
    from skimage.segmentation import quickshift as segment

    label_maps = [
        segment(image, ratio=ratio, kernel_size=kernel_size, max_dist=max_dist, rng=seed)  # type: ignore[no-untyped-call]
        for image, seed in zip(_numpy(pictures), seeds, strict=True)
    ]
    return torch.from_numpy(np.stack(label_maps)).long().to(pictures.device)


def felzenszwalb(pictures: Tensor, scale: float, sigma: float, min_size: int) -> Tensor:
    """Graph-based segments (Felzenszwalb and Huttenlocher, 2004) by scikit-image."""
    from skimage.segmentation import felzenszwalb as segment

    label_maps = [segment(image, scale=scale, sigma=sigma, min_size=min_size) for image in _numpy(pictures)]
    return torch.from_numpy(np.stack(label_maps)).long().to(pictures.device)


def equal_colours(x: Tensor) -> Tensor:
    """Pixels of exactly one colour, connected along sides or corners; the label is the first pixel's position.

    Corners count because designed patches have a random half of their pixels on: along sides alone these fall into
    small parts (percolation needs 59 % of pixels on), with corners (41 %) a patch is one segment and few islands.
    """
    pixels = torch.arange(x[:, 0].numel()).view(x[:, 0].shape)
    pairs = [_equal_pairs(x.cpu(), pixels, down, across) for down, across in ((0, 1), (1, 0), (1, 1), (1, -1))]
    first_pixel, second_pixel = torch.cat(pairs, dim=1).numpy()
    graph = coo_array(
        (np.ones(len(first_pixel), dtype=np.int8), (first_pixel, second_pixel)), shape=(pixels.numel(), pixels.numel())
    )
    count, component = connected_components(graph, directed=False)
    component = torch.from_numpy(component).long()
    first = torch.full((count,), pixels.numel()).scatter_reduce_(0, component, pixels.flatten(), "amin")
    return (first[component].view_as(pixels) % pixels[0].numel()).to(x.device)


def renumbered(labels: Tensor) -> tuple[Tensor, Tensor]:
    """The same segments, numbered 0, 1, ... in the order of their labels in each image; and their numbers (B,)."""
    rows = torch.arange(len(labels), device=labels.device) * (int(labels.max()) + 1)
    used, number = (labels + rows[:, None, None]).unique(return_inverse=True)
    counts = torch.bincount(torch.searchsorted(rows, used, right=True) - 1, minlength=len(labels))
    return number - (counts.cumsum(0) - counts)[:, None, None], counts


def _numpy(pictures: Tensor) -> np.ndarray:
    return pictures.permute(0, 2, 3, 1).double().contiguous().cpu().numpy()


def _equal_pairs(x: Tensor, pixels: Tensor, down: int, across: int) -> Tensor:
    """(2, pairs): positions of equal pixels that lie ``down`` rows and ``across`` columns apart, in the same image."""
    height, width = x.shape[2:]
    left, right = max(0, -across), width - max(0, across)
    first = (..., slice(0, height - down), slice(left, right))
    second = (..., slice(down, height), slice(left + across, right + across))
    equal = (x[first] == x[second]).all(dim=1)
    return torch.stack([pixels[first][equal], pixels[second][equal]])
