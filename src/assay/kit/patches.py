"""Patch masks for designed images: where patches lie, what they look like, which of their pixels are on.

Positions are (row, column). The image covers ``0..side`` in both; pixel ``i`` covers ``i..i+1``, its centre is
``i + 0.5``. Every function takes a fixed number of draws from each sample's stream, so that sample ``i`` depends on its
own key only, and one ``Draws`` can serve several calls in turn.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, sqrt

import torch
from torch import Tensor

from assay.core.errors import AssayError
from assay.core.rng import Draws
from assay.kit.outlines import fill, ring, smooth

ROUNDS = 1024  # half a millisecond a sample; leaves 3 of 1,000 to the grid with four 6-pixel boxes in 16 x 16


def scatter(draws: Draws, radii: Tensor, side: int, rounds: int = ROUNDS) -> Tensor:
    """Centres (B, P, 2) of discs with ``radii`` (B, P), inside the image and without overlap.

    Each sample draws ``rounds`` arrangements and keeps the first valid one, which makes it uniform over all valid ones.
    If none is, the discs are shuffled over the squares of a grid, each at random inside its square: that always works
    when the largest fits into a square. All arrangements are drawn even if the first is valid: with an early stop, the
    slowest sample of a block would decide how many numbers the others take.
    """
    sizes = 2 * radii.double()
    return _first_valid(_arrangements(draws, sizes, side, rounds, whole=False), sizes, side, _euclidean)


def scatter_boxes(draws: Draws, sizes: Tensor, side: int, rounds: int = ROUNDS) -> Tensor:
    """Centres (B, P, 2) of squares with whole ``sizes`` (B, P) and corners on whole pixels; as ``scatter`` otherwise.

    For ``shapes``: boxes may stand closer than the discs around them, so that small images fit.
    """
    sizes = sizes.double()
    return _first_valid(_arrangements(draws, sizes, side, rounds, whole=True), sizes, side, _chebyshev)


def bezier(draws: Draws, centres: Tensor, radii: Tensor, side: int, points: int = 7, inner: float = 0.6) -> Tensor:
    """Bool (B, P, side, side): smooth blobs of cubic Bezier curves inside the discs of ``scatter``.

    With four radii uniform in 22.7..37.4 they cover about 5,010 pixels on average (AttributionLab: some 4,940).
    """
    return fill(smooth(ring(draws, radii, points, inner)) + centres[..., None, :], side)


def shapes(draws: Draws, centres: Tensor, sizes: Tensor, side: int) -> Tensor:
    """Bool (B, P, side, side): a triangle, square or circle, equally likely, in each box of ``scatter_boxes``.

    ``sizes`` (B, P) are the side of the square, the diameter of the circle, base and height of the triangle, which
    stands on its base. A pixel belongs to a shape if its centre does.
    """
    half = sizes.double()[..., None] / 2
    pixels = torch.arange(side) + 0.5
    down, across = pixels - centres[..., :1], pixels - centres[..., 1:]  # (B, P, side)
    reach = torch.stack([(down + half) / 2, half.expand_as(down), (half**2 - down**2).clamp(min=0).sqrt()])
    kind = (3 * draws.uniform(sizes.shape[1])).long()[None, ..., None]
    reach = reach.gather(0, kind.expand(1, *down.shape))[0].where(down.abs() < half, 0)
    return across.abs()[..., None, :] < reach[..., None]


def speckle(draws: Draws, masks: Tensor) -> Tensor:
    """``masks`` (B, P, H, W), every pixel kept with probability 1/2, independent of all other pixels and samples.

    The patches of a sample share one field of coin flips: since they do not overlap, no flip is used twice.
    """
    return masks & (draws.uniform(1, *masks.shape[-2:]) < 0.5)


def _arrangements(draws: Draws, sizes: Tensor, side: int, rounds: int, whole: bool) -> Tensor:
    """Centres (B, rounds + 1, P, 2): free ones, then one on the grid. Free ones may overlap; all may stick out."""
    patches = sizes.shape[1]
    grid = ceil(sqrt(patches))
    square_side = side // grid if whole else side / grid
    squares = draws.permutations(grid**2)[:, None, :patches]
    origin = torch.stack([squares // grid, squares % grid], -1) * square_side
    spread = draws.uniform(rounds + 1, patches, 2).double()
    sizes = sizes[:, None, :, None]
    free, gridded = _along(spread[:, :-1], side - sizes, whole), _along(spread[:, -1:], square_side - sizes, whole)
    return torch.cat([free, origin + gridded], 1) + sizes / 2


def _along(spread: Tensor, room: Tensor, whole: bool) -> Tensor:
    """``spread`` in [0, 1) over 0..room; if ``whole``, over the whole numbers 0, ..., room with equal chances."""
    return (spread * (room + 1)).floor() if whole else spread * room


def _first_valid(centres: Tensor, sizes: Tensor, side: int, distance: Callable[[Tensor], Tensor]) -> Tensor:
    """(B, R, P, 2) arrangements to the first (B, P, 2) of each sample that is inside the image and free of overlap."""
    radii = sizes[:, None] / 2  # (B, 1, P)
    inside = (centres >= radii[..., None]) & (centres <= side - radii[..., None])
    first, second = torch.triu_indices(sizes.shape[1], sizes.shape[1], 1)
    apart = distance(centres[:, :, first] - centres[:, :, second]) >= radii[..., first] + radii[..., second]
    valid = inside.flatten(2).all(-1) & apart.all(-1)
    if not valid.any(1).all():
        raise AssayError(_too_dense(sizes[~valid.any(1)], side, len(sizes)))
    return centres[torch.arange(len(sizes)), valid.byte().argmax(1)]  # argmax: the first of equals


def _too_dense(sizes: Tensor, side: int, samples: int) -> str:
    """The error message: what did not fit, and what to change."""
    return (
        f"{sizes.shape[1]} patches up to {sizes.max().item():g} pixels wide do not fit into {side} x {side} pixels "
        f"without overlap ({len(sizes)} of {samples} samples). Make the patches smaller (radii or sizes), take fewer "
        f"of them, or enlarge the image (side)."
    )


def _euclidean(offset: Tensor) -> Tensor:
    """Discs overlap when this is less than the sum of their radii."""
    return torch.hypot(offset[..., 0], offset[..., 1])


def _chebyshev(offset: Tensor) -> Tensor:
    """Boxes overlap when this is less than half the sum of their sides."""
    return torch.maximum(offset[..., 0].abs(), offset[..., 1].abs())
