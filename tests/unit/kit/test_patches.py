"""Patches: where they lie, what they look like, which of their pixels are on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import combinations
from math import dist, pi, sqrt

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from assay.core.errors import AssayError
from assay.core.rng import Draws
from assay.kit.outlines import fill, ring, smooth
from assay.kit.patches import bezier, scatter, scatter_boxes, shapes, speckle

Arrange = Callable[..., Tensor]
FOUR = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]


def draws(count: int, purpose: str = "test", first: int = 0) -> Draws:
    return Draws([(purpose, index) for index in range(first, first + count)])


def sizes(count: int, low: int, high: int, patches: int = 4) -> Tensor:
    """Whole sizes low..high."""
    return (low + (high - low + 1) * draws(count, "sizes").uniform(patches)).long()


def radii(count: int, side: int = 224) -> Tensor:
    """The radii of the AttributionLab images, scaled from 224 pixels."""
    return (22.7 + 14.7 * draws(count, "radii").uniform(4)) * side / 224


def inside_by_hand(row: float, column: float, polygon: list[list[float]]) -> bool:
    """Even-odd rule, edge by edge: is the number of edges to the right odd?"""
    odd = False
    for (y0, x0), (y1, x1) in zip(polygon, polygon[1:] + polygon[:1], strict=True):
        if (y0 <= row) != (y1 <= row) and column < x0 + (row - y0) * (x1 - x0) / (y1 - y0):
            odd = not odd
    return odd


def winding_by_hand(row: float, column: float, polygon: list[tuple[float, float]]) -> int:
    """How often the polygon goes around a point: edges to the right, downwards minus upwards."""
    turns = 0
    for (y0, x0), (y1, x1) in zip(polygon, polygon[1:] + polygon[:1], strict=True):
        if (y0 <= row) != (y1 <= row) and column < x0 + (row - y0) * (x1 - x0) / (y1 - y0):
            turns += 1 if y0 < y1 else -1
    return turns


def fill_by_hand(polygon: list[list[float]], side: int) -> Tensor:
    return torch.tensor([[inside_by_hand(i + 0.5, j + 0.5, polygon) for j in range(side)] for i in range(side)])


# scatter


@given(data=st.data(), patches=st.integers(1, 6), side=st.integers(12, 64))
@settings(max_examples=60)
def test_discs_lie_inside_the_image_and_apart(data: st.DataObject, patches: int, side: int) -> None:
    # Up to six, each a little smaller than a cell of the 3 x 3 grid: there is always a place.
    chosen = data.draw(st.lists(st.floats(0.5, 0.999 * side / 6), min_size=patches, max_size=patches))
    for row in scatter(draws(3), torch.tensor([chosen] * 3, dtype=torch.float64), side).tolist():
        assert all(r - 1e-9 <= x <= side - r + 1e-9 for point, r in zip(row, chosen, strict=True) for x in point)
        for (p, r), (q, s) in combinations(zip(row, chosen, strict=True), 2):
            assert dist(p, q) >= r + s - 1e-9


@given(data=st.data(), patches=st.integers(1, 6), side=st.integers(12, 64))
@settings(max_examples=60)
def test_boxes_claim_whole_pixels_inside_the_image_and_none_twice(data: st.DataObject, patches: int, side: int) -> None:
    chosen = data.draw(st.lists(st.integers(1, side // 3), min_size=patches, max_size=patches))
    for row in scatter_boxes(draws(3), torch.tensor([chosen] * 3), side).tolist():
        claimed: set[tuple[int, int]] = set()
        for (y, x), size in zip(row, chosen, strict=True):
            top, left = y - size / 2, x - size / 2
            assert top == int(top)
            assert left == int(left)
            assert 0 <= min(top, left) <= max(top, left) <= side - size
            claimed |= {(int(top) + i, int(left) + j) for i in range(size) for j in range(size)}
        assert len(claimed) == sum(size**2 for size in chosen)


@pytest.mark.parametrize(("low", "high", "side"), [(20, 50, 224), (6, 15, 64), (4, 6, 24), (4, 6, 16), (8, 8, 16)])
def test_crowded_boxes_always_fit_into_the_image(low: int, high: int, side: int) -> None:
    box_sizes = sizes(100, low, high)
    masks = shapes(draws(100), scatter_boxes(draws(100, "place"), box_sizes, side), box_sizes, side)
    assert masks.sum(1).max() == 1
    assert masks.flatten(2).any(-1).all()


def test_crowded_discs_always_fit_into_the_image() -> None:
    centres = scatter(draws(200), torch.full((200, 4), 37.4), 224)
    first, second = torch.tensor(FOUR).T
    offset = centres[:, first] - centres[:, second]
    assert offset.norm(dim=-1).min() >= 74.8
    assert offset.abs().amax(-1).min() < 74.8  # discs may stand closer than the boxes around them


def test_discs_that_fit_in_one_way_only_are_put_on_the_grid() -> None:
    centres = scatter(draws(20), torch.full((20, 4), 8.0), 32)
    assert all(sorted(row) == [[8, 8], [8, 24], [24, 8], [24, 24]] for row in centres.tolist())
    assert len({str(row) for row in centres.tolist()}) > 1  # in any order


@pytest.mark.parametrize("arrange", [scatter, scatter_boxes])
def test_a_patch_too_many_is_an_error_that_says_what_to_change(arrange: Arrange) -> None:
    box_sizes = torch.full((3, 4), 4.0)
    box_sizes[1] = 12.0
    with pytest.raises(AssayError, match=r"4 patches up to \d+ .* 20 x 20 .*1 of 3 samples.*smaller.*fewer.*enlarge"):
        arrange(draws(3), box_sizes, 20)


@pytest.mark.parametrize("arrange", [scatter, scatter_boxes])
def test_no_arrangement_sticks_out_when_a_patch_is_wider_than_the_image(arrange: Arrange) -> None:
    with pytest.raises(AssayError):
        arrange(draws(50), torch.full((50, 1), 9.0), 8)


def test_every_arrangement_is_as_likely_as_any_other() -> None:
    # A 2-pixel and a 1-pixel box in 3 x 3: 4 corners for the first, 5 free pixels for the second.
    centres = scatter_boxes(draws(4000), torch.tensor([[2, 1]]).expand(4000, 2), 3, rounds=32)
    counts = torch.tensor(list(Counter(str(row) for row in centres.tolist()).values()))
    error = sqrt(200 * (1 - 1 / 20))
    assert len(counts) == 20
    assert (counts - 200).abs().max() < 4.5 * error


# Each sample on its own


def everything(block: Draws, wide: Tensor, whole: Tensor) -> list[Tensor]:
    """All drawing functions in turn on the same streams."""
    discs = scatter(block, wide, 48)
    blobs = bezier(block, discs, wide, 48)
    boxes = scatter_boxes(block, whole, 16)
    return [discs, blobs, boxes, shapes(block, boxes, whole, 16), speckle(block, blobs), block.uniform(3)]


@pytest.mark.parametrize("index", [0, 7, 15])
def test_a_sample_is_the_same_in_any_block(index: int) -> None:
    # Easy and crowded samples alternate: the grid is needed for some while others are done at once.
    wide, whole = torch.full((16, 4), 3.0), torch.full((16, 4), 2)
    wide[1::2], whole[1::2] = 12.0, 7
    together = everything(draws(16), wide, whole)
    alone = everything(draws(1, first=index), wide[index : index + 1], whole[index : index + 1])
    assert all(torch.equal(a[index], b[0]) for a, b in zip(together, alone, strict=True))


def test_samples_of_a_block_differ() -> None:
    drawn = everything(draws(2), torch.full((2, 4), 4.0), torch.full((2, 4), 3))
    assert not any(torch.equal(one, other) for one, other in drawn)


# Outlines and filling


POLYGONS = {
    "triangle": [[1.2, 3.1], [13.7, 1.4], [9.3, 14.2]],
    "concave": [[2.0, 2.0], [14.0, 4.0], [6.3, 7.1], [13.1, 13.3], [1.7, 12.6]],
    "clockwise": [[2.0, 2.0], [2.0, 12.0], [12.0, 12.0], [12.0, 2.0]],
    "on the centres of pixels": [[2.5, 2.5], [12.5, 2.5], [12.5, 12.5], [2.5, 12.5]],
    "diamond, corners on centres": [[2.5, 8.5], [8.5, 14.5], [14.5, 8.5], [8.5, 2.5]],
    "sticking out": [[-5.0, 4.0], [8.0, -6.0], [21.0, 9.0], [7.0, 25.0]],
    "between the centres": [[3.6, 3.6], [3.6, 4.4], [4.4, 4.4], [4.4, 3.6]],
    "out of sight": [[-9.0, 2.0], [-3.0, 9.0], [-5.0, 12.0]],
}


@pytest.mark.parametrize("name", POLYGONS)
def test_filling_agrees_with_the_even_odd_rule_by_hand(name: str) -> None:
    assert torch.equal(fill(torch.tensor(POLYGONS[name]), 16), fill_by_hand(POLYGONS[name], 16))


def test_polygons_of_different_height_are_filled_side_by_side() -> None:
    batch_polygons = [
        POLYGONS[name] for name in ("clockwise", "on the centres of pixels", "diamond, corners on centres")
    ]
    batch = torch.tensor([*batch_polygons, POLYGONS["between the centres"]]).view(2, 2, 4, 2)
    by_hand = torch.stack([fill_by_hand(polygon, 16) for polygon in batch.flatten(0, 1).tolist()])
    assert torch.equal(fill(batch, 16), by_hand.view(2, 2, 16, 16))


@given(outline=st.lists(st.tuples(st.floats(-4, 16), st.floats(-4, 16)), min_size=3, max_size=8))
@settings(max_examples=60)
def test_any_polygon_covers_the_pixels_it_winds_around(outline: list[tuple[float, float]]) -> None:
    expected = [[winding_by_hand(i + 0.5, j + 0.5, outline) != 0 for j in range(12)] for i in range(12)]
    assert fill(torch.tensor(outline, dtype=torch.float64), 12).tolist() == expected


def test_a_doubled_loop_has_no_hole() -> None:
    star = torch.tensor([[0.0, 8.0], [15.0, 3.0], [5.0, 15.0], [5.0, 1.0], [15.0, 13.0]])
    assert not inside_by_hand(8.5, 8.5, star.tolist())
    assert fill(star, 16)[8, 8]


def test_blobs_fill_their_outline_as_by_hand() -> None:
    chosen = radii(2, 48)
    centres = scatter(draws(2), chosen, 48)
    masks = bezier(draws(2, "blob"), centres, chosen, 48)
    outlines = smooth(ring(draws(2, "blob"), chosen, 7, 0.6)) + centres[..., None, :]
    by_hand = [fill_by_hand(outline, 48) for outline in outlines.flatten(0, 1).tolist()]
    assert torch.equal(masks.flatten(0, 1), torch.stack(by_hand))


def test_control_points_go_once_around_between_inner_and_outer_radius() -> None:
    points = ring(draws(200), torch.full((200, 4), 10.0), 7, 0.6)
    lengths = points.norm(dim=-1)
    assert 6.0 <= lengths.min() < 6.01
    assert 9.99 < lengths.max() <= 10.0
    angles = torch.atan2(points[..., 0], points[..., 1])
    gaps = (angles.roll(-1, -1) - angles) % (2 * pi)
    assert torch.allclose(gaps.sum(-1), torch.tensor(2 * pi, dtype=torch.float64))
    assert gaps.min() >= 0.44 * 2 * pi / 7


def test_outlines_are_smooth_and_meet_their_own_start() -> None:
    outline = smooth(ring(draws(50), torch.ones(50, 4), 7, 0.6))
    step = outline.roll(-1, -2) - outline
    bend = (step.roll(-1, -2) - step).norm(dim=-1)
    assert step.norm(dim=-1).max() < 0.15  # of the radius: 84 steps around, no jump
    assert bend.max() < 0.03  # the direction changes gradually at the joints too


def test_a_blob_never_leaves_its_disc() -> None:
    chosen = radii(64)
    centres = scatter(draws(64), chosen, 224)
    sample, patch, row, column = bezier(draws(64, "blob"), centres, chosen, 224, inner=0.0).nonzero().T
    from_centre = torch.stack([row, column], -1) + 0.5 - centres[sample, patch]
    assert (from_centre.norm(dim=-1) <= chosen[sample, patch] + 1e-9).all()


def test_blobs_do_not_overlap_and_have_the_area_of_the_published_images() -> None:
    chosen = radii(256)
    masks = bezier(draws(256, "blob"), scatter(draws(256), chosen, 224), chosen, 224)
    assert masks.sum(1).max() == 1
    total = masks.flatten(1).sum(1).double()
    error = total.std() / sqrt(256)  # about 50 pixels
    assert abs(total.mean() - 5010) < 3 * error
    assert error < 60
    share = masks.flatten(2).sum(-1) / (pi * chosen**2)
    assert share.min() > 0.1  # no slivers
    assert share.max() < 0.75


def test_blobs_prefer_no_direction() -> None:
    chosen = torch.full((400, 4), 7.0)
    masks = bezier(draws(400, "blob"), torch.full((400, 4, 2), 8.0), chosen, 16).flatten(0, 1).double()
    away = torch.arange(16, dtype=torch.float64) + 0.5 - 8
    for balance in (masks.sum(2) @ away, masks.sum(1) @ away):
        assert balance.mean().abs() < 4 * balance.std() / sqrt(1600)


# Triangles, squares, circles


@pytest.mark.parametrize("size", [20, 35, 50])
def test_each_third_is_a_triangle_a_square_or_a_circle_of_the_right_area(size: int) -> None:
    box_sizes = torch.full((150, 4), size)
    areas = shapes(draws(150), scatter_boxes(draws(150, "place"), box_sizes, 224), box_sizes, 224).flatten(2).sum(-1)
    square = areas == size**2
    circle = (areas / (pi / 4 * size**2) - 1).abs() < 0.03
    triangle = (areas / (size**2 / 2) - 1).abs() < 0.03
    assert (square | circle | triangle).all()
    for kind in (square, circle, triangle):
        assert abs(kind.sum() - 200) < 4 * sqrt(600 * 2 / 9)


def picture(rows: str) -> Tensor:
    return torch.tensor([[pixel == "#" for pixel in row] for row in rows.split()])


def test_small_shapes_look_like_this() -> None:
    box_sizes = torch.full((60, 1), 5)
    drawn = shapes(draws(60), torch.full((60, 1, 2), 3.5), box_sizes, 7)
    expected = [
        picture("....... ...#... ...#... ..###.. ..###.. .#####. ......."),
        picture("....... .#####. .#####. .#####. .#####. .#####. ......."),
        picture("....... ..###.. .#####. .#####. .#####. ..###.. ......."),
    ]
    drawn_shapes = {tuple(mask.flatten().tolist()) for mask in drawn}
    assert drawn_shapes == {tuple(mask.flatten().tolist()) for mask in expected}


def test_shapes_stay_in_their_box() -> None:
    box_sizes = sizes(64, 6, 15)
    centres = scatter_boxes(draws(64), box_sizes, 64)
    sample, patch, row, column = shapes(draws(64, "shape"), centres, box_sizes, 64).nonzero().T
    from_centre = torch.stack([row, column], -1) + 0.5 - centres[sample, patch]
    assert (from_centre.abs().amax(-1) < box_sizes[sample, patch] / 2).all()


# Speckle


def test_speckle_keeps_half_of_every_mask_and_nothing_else() -> None:
    masks = torch.zeros(200, 4, 32, 32, dtype=torch.bool)
    for patch, (row, column) in enumerate([(0, 0), (0, 16), (16, 0), (16, 16)]):
        masks[:, patch, row : row + 10, column : column + 10] = True
    kept = speckle(draws(200), masks)
    assert not (kept & ~masks).any()
    counts = kept.flatten(2).sum(-1).double()
    assert abs(counts.mean() - 50) < 4 * 5 / sqrt(800)
    assert abs(counts.var() / 25 - 1) < 4 * sqrt(2 / 800)  # binomial: pixels are independent


def test_speckle_differs_between_pixels_samples_and_patches() -> None:
    field = torch.zeros(400, 2, 8, 8, dtype=torch.bool)
    field[:, 0, :, :4], field[:, 1, :, 4:] = True, True
    kept = speckle(draws(400), field).any(1).flatten(1).double()
    correlation = torch.corrcoef(kept.T) - torch.eye(64)
    assert correlation.abs().max() < 5 / sqrt(400)
    assert (torch.corrcoef(kept) - torch.eye(400)).abs().max() < 6 / sqrt(64)
