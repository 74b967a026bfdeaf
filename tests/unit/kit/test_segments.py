"""Segmenters: label maps of images, each image by itself."""

from __future__ import annotations

import numpy as np
import pytest
import skimage.segmentation
import torch
from torch.testing import assert_close

from assay.core.rng import Draws
from assay.environments.color_count import ColorCount
from assay.kit.segments import equal_colours, felzenszwalb, quickshift, renumbered, rgb_pictures


def flooded(image):
    """Labels by filling one segment after the other, pixel by pixel; neighbours along sides and corners."""
    _, height, width = image.shape
    labels = -np.ones((height, width), dtype=int)
    for start in np.ndindex(height, width):
        if labels[start] >= 0:
            continue
        waiting = [start]
        labels[start] = start[0] * width + start[1]
        while waiting:
            row, column = waiting.pop()
            for i, j in np.ndindex(3, 3):
                neighbour = (row + i - 1, column + j - 1)
                inside = 0 <= neighbour[0] < height and 0 <= neighbour[1] < width
                if inside and labels[neighbour] < 0 and (image[:, *neighbour] == image[:, row, column]).all():
                    labels[neighbour] = labels[start]
                    waiting.append(neighbour)
    return labels


def images(count, channels, height, width, colours=2):
    """Few colours, so that pixels have equal neighbours."""
    return (Draws([("images", row) for row in range(count)]).uniform(channels, height, width) * colours).floor()


@pytest.mark.parametrize("channels, height, width", [(1, 9, 9), (3, 7, 12), (2, 1, 8), (2, 8, 1)])
def test_equal_colours_are_flooded_areas(channels, height, width):
    x = images(4, channels, height, width)
    expected = np.stack([flooded(image) for image in x.numpy()])
    assert torch.equal(equal_colours(x), torch.from_numpy(expected))


def test_designed_images_fall_into_one_colour_segments():
    samples = ColorCount.tiny().sample(range(8), 0)
    labels, counts = renumbered(equal_colours(samples.x))
    for x, effect, label, count in zip(samples.x, samples.truth.effect, labels, counts.tolist(), strict=True):
        for segment in range(count):
            inside = label == segment
            assert (x[:, inside] == x[:, inside][:, :1]).all()
            assert len(effect[inside].unique()) == 1


def test_corners_keep_a_patch_together():
    """224 pixels: along sides alone the largest of these would have 728 segments."""
    _, counts = renumbered(equal_colours(ColorCount().sample(range(3), 0).x))
    assert counts.max() < 100


def test_segments_are_numbered_in_each_image():
    labels = torch.tensor([[[7, 7], [3, 9]], [[3, 3], [3, 3]], [[0, 9], [9, 0]]])
    segments, counts = renumbered(labels)
    assert segments.tolist() == [[[1, 1], [0, 2]], [[0, 0], [0, 0]], [[0, 1], [1, 0]]]
    assert counts.tolist() == [3, 1, 2]


def test_pictures_are_stretched_to_their_own_range():
    x = images(3, 3, 5, 5, colours=9) - 4
    x[2] = 7
    pictures = rgb_pictures(x)
    for before, after in zip(x[:2], pictures[:2], strict=True):
        assert_close(after, (before - before.min()) / (before.max() - before.min()))
    assert not pictures[2].any()
    grey = rgb_pictures(x[:, :1])
    assert grey.shape == (3, 3, 5, 5)
    assert torch.equal(grey[:, 0], grey[:, 2])


def test_felzenszwalb_is_scikit_images_on_each_picture():
    pictures = rgb_pictures(ColorCount(side=48, sizes=(8, 12)).sample(range(3), 0).x)
    label_maps = felzenszwalb(pictures, 1.0, 0.8, 20)
    for picture, labels in zip(pictures, label_maps, strict=True):
        expected = skimage.segmentation.felzenszwalb(picture.double().numpy().transpose(1, 2, 0))  # its own defaults
        assert len(np.unique(expected)) > 3
        assert np.array_equal(labels.numpy(), expected)


def test_quickshift_is_scikit_images_and_lime_asks_it_the_same():
    from lime.wrappers.scikit_image import SegmentationAlgorithm

    lime = SegmentationAlgorithm("quickshift", kernel_size=4, max_dist=200, ratio=0.2)  # breaks ties with seed 42
    pictures = rgb_pictures(ColorCount(side=64).sample(range(2), 0).x)
    label_maps = quickshift(pictures, [42, 42], 4.0, 200.0, 0.2)
    for picture, labels in zip(pictures, label_maps, strict=True):
        expected = lime(picture.double().numpy().transpose(1, 2, 0))
        assert len(np.unique(expected)) > 1
        assert np.array_equal(labels.numpy(), expected)


def test_a_seed_belongs_to_its_picture():
    """Every pixel of a plain picture is as dense as its neighbour: only the seed decides."""
    pictures = torch.zeros(2, 3, 24, 24)
    first, second = quickshift(pictures, [1, 2], 1.0, 3.0, 1.0)
    assert not torch.equal(first, second)
    assert torch.equal(quickshift(pictures[:1], [2], 1.0, 3.0, 1.0)[0], second)
