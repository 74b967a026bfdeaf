"""Closed outlines: random smooth ones, and the pixels inside any outline.

Positions are (row, column). The image covers ``0..side`` in both; pixel ``i`` covers ``i..i+1``, its centre is
``i + 0.5``.
"""

from __future__ import annotations

from math import pi

import torch
from torch import Tensor

from assay.core.rng import Draws

STEPS = 12  # vertices per Bezier segment: below 0.1 px from the curve at a radius of 40
EVENNESS = 0.44  # of the angles, see ring()


def ring(draws: Draws, radii: Tensor, points: int, inner: float) -> Tensor:
    """(B, P, points, 2): control points in order of angle around the origin, at ``inner``..1 of the radius.

    Sorted random angles alone leave more than half a turn empty in a ninth of the patches (7 points), which draws
    slivers. So the angles lie ``EVENNESS`` of the way from sorted random to evenly spaced, the value that gives the
    area of the AttributionLab images, and the ring is then rotated at random, since mixing favours a direction.
    """
    patches = radii.shape[1]
    drawn = draws.uniform(patches, points).double().sort(-1).values
    even = drawn[..., :1] + torch.arange(points) / points
    angle = 2 * pi * (torch.lerp(drawn, even, EVENNESS) + draws.uniform(patches, 1))
    radius = radii.double()[..., None] * (inner + (1 - inner) * draws.uniform(patches, points))
    return torch.stack([radius * angle.sin(), radius * angle.cos()], -1)


def smooth(control: Tensor) -> Tensor:
    """(..., K, 2) control points to (..., K * STEPS, 2) vertices of a closed chain of cubic Bezier curves.

    Curve ``k`` has its handles on the side from point ``k`` to ``k + 1``, a third from either end, and starts half-way
    between its first handle and the one before: there the tangent is parallel to the line joining the two neighbours.
    This is the closed uniform cubic B-spline. It stays in the convex hull of the control points, and bends smoothly
    where curves *through* the points would spike between two that are close in angle and far in radius.
    """
    after = control.roll(-1, -2)
    out, into = (2 * control + after) / 3, (control + 2 * after) / 3
    start = (out + into.roll(1, -2)) / 2
    curve = torch.stack([start, out, into, start.roll(-1, -2)], -2)  # (..., K, 4, 2)
    t = torch.arange(STEPS, dtype=curve.dtype)[:, None] / STEPS
    weights = torch.cat([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3], -1)
    return (weights @ curve).flatten(-3, -2)


def fill(outline: Tensor, side: int) -> Tensor:
    """(..., V, 2) vertices to bool (..., side, side): pixels whose centre a closed polygon winds around.

    Each edge marks, in every row whose centre line it crosses, the first pixel to the right of the crossing, with its
    direction; running sums along the row are winding numbers. The cost is rows times (edges + columns), not their
    product. Parts outside the image are cut off.
    """
    start = outline.reshape(-1, *outline.shape[-2:]).double()
    rows = _rows(start[..., 0], side)
    column, turn = _crossings(start, rows + 0.5, side)
    winding = torch.zeros(len(start), side * (side + 1), dtype=torch.int8)
    winding.scatter_add_(1, (rows[..., None] * (side + 1) + column).flatten(1), turn.flatten(1))
    inside = winding.view(-1, side, side + 1).cumsum(-1, dtype=torch.int8)[..., :side] != 0
    return inside.view(*outline.shape[:-2], side, side)


def _rows(heights: Tensor, side: int) -> Tensor:
    """(N, V) heights of the vertices to (N, R): equally many rows for each polygon, covering its part of the image."""
    top, bottom = heights.amin(-1).floor().clamp(0, side), heights.amax(-1).ceil().clamp(0, side)
    count = int((bottom - top).max())
    return top.clamp(max=side - count).long()[:, None] + torch.arange(count)


def _crossings(start: Tensor, heights: Tensor, side: int) -> tuple[Tensor, Tensor]:
    """(N, R, V) twice: the first column right of where an edge crosses a height; +1 down, -1 up, 0 for no crossing."""
    (y0, x0), (y1, x1) = start[:, None].unbind(-1), start.roll(-1, 1)[:, None].unbind(-1)
    y = heights[..., None]
    turn = (y0 <= y).to(torch.int8) - (y1 <= y).to(torch.int8)  # half-open, so that a shared vertex counts once
    column = (x0 + (y - y0) * (x1 - x0) / (y1 - y0) - 0.5).ceil().clamp(0, side)
    return column.where(turn != 0, side).long(), turn  # a level edge divides by zero, but never crosses
