"""Linear imputation compared with the published way: per image, a sparse matrix built as lists and solved directly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from statistics import fmean, median
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import interpolate

from assay.kit.feature_orders import among_first, descending_order, positions
from assay.kit.imputation.impute import impute
from benchmarks.measuring import Measured, seconds

SIDE = 224
RATIOS = (0.1, 0.3, 0.5, 0.7, 0.9, 0.98)
SWEEP = tuple(percent / 100 for percent in range(98, 2, -1))  # of the soundness curve: 0.98, 0.97, ..., 0.03
DIRECTIONS = tuple(shift for shift in product((-1, 0, 1), (-1, 0, 1)) if shift != (0, 0))
PEER = "lil matrix, spsolve"


def problems() -> list[Measured]:
    return [Ratios(), Sweep()]


def reference(x: Tensor, removed: Tensor) -> Tensor:
    """The published computation in float64, image by image: lil matrix, CSC, SuperLU; one assignment per direction."""
    rows = zip(x.double().numpy(), removed.numpy(), strict=True)
    return torch.from_numpy(np.stack([_solved(image, gone) for image, gone in rows]))


def _solved(image: NDArray[np.float64], gone: NDArray[np.bool_]) -> NDArray[np.float64]:
    from scipy.sparse import lil_matrix
    from scipy.sparse.linalg import spsolve

    if not gone.any():
        return image.copy()
    height, width = gone.shape
    row, column = gone.nonzero()
    unknown = np.zeros(gone.shape, dtype=np.int64)
    unknown[gone] = np.arange(len(row))
    matrix = lil_matrix((len(row), len(row)))
    diagonal, right_side = np.zeros(len(row)), np.zeros((len(row), len(image)))
    for down, right in DIRECTIONS:
        weight = 1 / 12 if down and right else 1 / 6
        inside = (
            (row + down >= 0) & (row + down < height) & (column + right >= 0) & (column + right < width)
        ).nonzero()[0]
        neighbour = (row[inside] + down, column[inside] + right)
        diagonal[inside] += weight
        removed, known = gone[neighbour], ~gone[neighbour]
        matrix[inside[removed], unknown[neighbour][removed]] = -weight
        right_side[inside[known]] += weight * image[:, neighbour[0][known], neighbour[1][known]].T
    matrix.setdiag(diagonal)
    filled = image.copy()
    filled[:, gone] = spsolve(matrix.tocsc(), right_side).reshape(len(row), -1).T
    return filled


def picture() -> Tensor:
    """(1, 3, 224, 224) between 0 and 1: noise at several scales, stronger at coarser ones."""
    random = torch.Generator().manual_seed(0)
    sizes = (7, 14, 28, 56, 112, SIDE)
    parts = [
        interpolate(torch.randn(1, 3, size, size, generator=random), (SIDE, SIDE), mode="bilinear") / size
        for size in sizes
    ]
    total = torch.stack(parts).sum(dim=0)
    return (total - total.min()) / (total.max() - total.min())


def ranks(rough: bool) -> Tensor:
    """Every pixel's rank (224, 224), largest attribution first, in noise (``rough``) or in a coarse map like CAM's."""
    random = torch.Generator().manual_seed(1)
    level = torch.rand(1, 1, SIDE if rough else 7, SIDE if rough else 7, generator=random)
    level = interpolate(level, (SIDE, SIDE), mode="bilinear", align_corners=False)
    return positions(descending_order(level.view(1, -1))).view(SIDE, SIDE)


def removals(rank: Tensor, ratios: tuple[float, ...], largest_first: bool) -> Tensor:
    """Bool (ratios, 224, 224): the pixels removed at each ratio."""
    order = rank if largest_first else SIDE * SIDE - 1 - rank
    return among_first(order, torch.tensor([int(SIDE * SIDE * ratio) for ratio in ratios]))


@dataclass(frozen=True)
class Ratios:
    """One image, smooth and rough maps, most and least relevant pixels removed first; one call per mask."""

    ratios: tuple[float, ...] = RATIOS

    def rows(self, task: str, repeats: int) -> list[dict[str, Any]]:
        orders = [removals(ranks(rough), self.ratios, first) for rough, first in product((False, True), (False, True))]
        races = [[race(picture(), masks[i : i + 1], repeats) for masks in orders] for i in range(len(self.ratios))]
        overall = Race.mean([single for group in races for single in group])
        ratios = ", ".join(map(str, self.ratios))
        statement = f"{SIDE}x{SIDE}x3, one image, smooth and rough maps, both orders, ratios {ratios}"
        common = {"task": task, "problem": statement, "repeats": repeats, **overall.difference_fields()}
        rows = [{**common, **row} for row in overall.rows(", mean")]
        for ratio, group in zip(self.ratios, map(Race.mean, races), strict=True):
            rows += [{**common, **row} for row in group.rows(f", {ratio} removed")]
        return rows


@dataclass(frozen=True)
class Sweep:
    """All steps of a soundness curve of one image, in one call."""

    ratios: tuple[float, ...] = SWEEP

    def rows(self, task: str, repeats: int) -> list[dict[str, Any]]:
        masks = removals(ranks(rough=False), self.ratios, largest_first=False)
        result = race(picture().expand(len(masks), -1, -1, -1), masks, repeats)
        statement = f"{SIDE}x{SIDE}x3, one image, smooth map, {len(masks)} steps, least relevant pixels removed first"
        common = {"task": task, "problem": statement, "repeats": repeats, **result.difference_fields()}
        return [{**common, **row} for row in result.rows("")]


@dataclass(frozen=True)
class Race:
    """Time of both sides, and how much their results differ."""

    ours: float  # CPU seconds
    theirs: float
    difference: float  # the largest, in parts of the value range of the known pixels of its image

    @classmethod
    def mean(cls, races: list[Race]) -> Race:
        ours, theirs = fmean(single.ours for single in races), fmean(single.theirs for single in races)
        return cls(ours, theirs, max(single.difference for single in races))

    def difference_fields(self) -> dict[str, Any]:
        note = f"largest difference: {self.difference:.1e} of the value range of the known pixels"
        return {"note": note, "difference": self.difference}

    def rows(self, what: str) -> list[dict[str, Any]]:
        sides = ((f"assay{what}", self.ours), (f"{PEER}{what}", self.theirs))
        return [
            {"who": who, "seconds": taken, "figure": f"{1000 * taken:,.1f} ms", "ratio": f"{self.theirs / taken:.1f}x"}
            for who, taken in sides
        ]


def race(x: Tensor, removed: Tensor, repeats: int) -> Race:
    """The medians of alternating runs."""
    impute(x[:1], removed[:1])  # compiles before it is timed
    answers: dict[str, Tensor] = {}
    works: tuple[Callable[[], object], ...] = (
        lambda: answers.update(ours=impute(x, removed)),
        lambda: answers.update(theirs=reference(x, removed)),
    )
    ours, theirs = zip(*([seconds(work) for work in works] for _ in range(repeats)), strict=True)
    gone = removed[:, None].expand_as(x)
    low = x.masked_fill(gone, torch.inf).amin(dim=(1, 2, 3))
    high = x.masked_fill(gone, -torch.inf).amax(dim=(1, 2, 3))
    difference = (answers["ours"] - answers["theirs"]).abs().amax(dim=(1, 2, 3))
    return Race(median(ours), median(theirs), float((difference / (high - low)).max()))
