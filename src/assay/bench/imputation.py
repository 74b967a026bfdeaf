"""Linear imputation next to the published way: a sparse matrix assembled as lists and solved directly, per image."""

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

from assay.bench.bench import Measured, seconds
from assay.kit.impute import impute
from assay.kit.masks import among_first
from assay.kit.ranks import descending, places

SIDE = 224
RATIOS = (0.1, 0.3, 0.5, 0.7, 0.9, 0.98)
SWEEP = tuple(percent / 100 for percent in range(98, 2, -1))  # of the soundness curve: 0.98, 0.97, ..., 0.03
DIRECTIONS = tuple(shift for shift in product((-1, 0, 1), (-1, 0, 1)) if shift != (0, 0))
PEER = "lil matrix, spsolve"


def problems() -> list[Measured]:
    return [Ratios(), Sweep()]


def reference(x: Tensor, removed: Tensor) -> Tensor:
    """The published path in float64, image by image: lil matrix, CSC, SuperLU; one assignment per direction."""
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
        there = (row[inside] + down, column[inside] + right)
        diagonal[inside] += weight
        open_, known = gone[there], ~gone[there]
        matrix[inside[open_], unknown[there][open_]] = -weight
        right_side[inside[known]] += weight * image[:, there[0][known], there[1][known]].T
    matrix.setdiag(diagonal)
    found = image.copy()
    found[:, gone] = spsolve(matrix.tocsc(), right_side).reshape(len(row), -1).T
    return found


def picture() -> Tensor:
    """(1, 3, 224, 224) between 0 and 1: noise of all sizes, larger ones stronger."""
    random = torch.Generator().manual_seed(0)
    sizes = (7, 14, 28, 56, 112, SIDE)
    parts = [
        interpolate(torch.randn(1, 3, size, size, generator=random), (SIDE, SIDE), mode="bilinear") / size
        for size in sizes
    ]
    total = torch.stack(parts).sum(dim=0)
    return (total - total.min()) / (total.max() - total.min())


def ranks(rough: bool) -> Tensor:
    """Every pixel's place (224, 224), largest attribution first, in noise or in a coarse map as CAM methods draw it."""
    random = torch.Generator().manual_seed(1)
    level = torch.rand(1, 1, SIDE if rough else 7, SIDE if rough else 7, generator=random)
    level = interpolate(level, (SIDE, SIDE), mode="bilinear", align_corners=False)
    return places(descending(level.view(1, -1))).view(SIDE, SIDE)


def removals(place: Tensor, ratios: tuple[float, ...], largest_first: bool) -> Tensor:
    """(ratios, 224, 224)."""
    order = place if largest_first else SIDE * SIDE - 1 - place
    return among_first(order, torch.tensor([int(SIDE * SIDE * ratio) for ratio in ratios]))


@dataclass(frozen=True)
class Ratios:
    """One image, smooth and rough maps, most and least relevant pixels removed first; one call per mask."""

    ratios: tuple[float, ...] = RATIOS

    def rows(self, task: str, repeats: int) -> list[dict[str, Any]]:
        orders = [removals(ranks(rough), self.ratios, first) for rough, first in product((False, True), (False, True))]
        races = [[race(picture(), masks[i : i + 1], repeats) for masks in orders] for i in range(len(self.ratios))]
        every = Race.mean([one for cell in races for one in cell])
        which = ", ".join(map(str, self.ratios))
        statement = f"{SIDE}x{SIDE}x3, one image, smooth and rough maps, both orders, ratios {which}"
        common = {"task": task, "problem": statement, "repeats": repeats, **every.told()}
        found = [{**common, **row} for row in every.rows(", mean")]
        for ratio, cell in zip(self.ratios, map(Race.mean, races), strict=True):
            found += [{**common, **row} for row in cell.rows(f", {ratio} removed")]
        return found


@dataclass(frozen=True)
class Sweep:
    """All steps of a soundness curve of one image, in one call."""

    ratios: tuple[float, ...] = SWEEP

    def rows(self, task: str, repeats: int) -> list[dict[str, Any]]:
        masks = removals(ranks(rough=False), self.ratios, largest_first=False)
        found = race(picture().expand(len(masks), -1, -1, -1), masks, repeats)
        statement = f"{SIDE}x{SIDE}x3, one image, smooth map, {len(masks)} steps, least relevant pixels removed first"
        common = {"task": task, "problem": statement, "repeats": repeats, **found.told()}
        return [{**common, **row} for row in found.rows("")]


@dataclass(frozen=True)
class Race:
    ours: float  # CPU seconds
    theirs: float
    difference: float  # the largest, in parts of the value range of the known pixels of its image

    @classmethod
    def mean(cls, races: list[Race]) -> Race:
        ours, theirs = fmean(one.ours for one in races), fmean(one.theirs for one in races)
        return cls(ours, theirs, max(one.difference for one in races))

    def told(self) -> dict[str, Any]:
        note = f"largest difference: {self.difference:.1e} of the value range of the known pixels"
        return {"note": note, "difference": self.difference}

    def rows(self, what: str) -> list[dict[str, Any]]:
        sides = ((f"assay{what}", self.ours), (f"{PEER}{what}", self.theirs))
        return [
            {"who": who, "seconds": one, "figure": f"{1000 * one:,.1f} ms", "ratio": f"{self.theirs / one:.1f}x"}
            for who, one in sides
        ]


def race(x: Tensor, removed: Tensor, repeats: int) -> Race:
    """The medians of alternating runs."""
    impute(x[:1], removed[:1])  # compiled before it is timed
    answers: dict[str, Tensor] = {}
    works: tuple[Callable[[], object], ...] = (
        lambda: answers.update(ours=impute(x, removed)),
        lambda: answers.update(theirs=reference(x, removed)),
    )
    ours, theirs = zip(*([seconds(work) for work in works] for _ in range(repeats)), strict=True)
    gone = removed[:, None].expand_as(x)
    low = x.masked_fill(gone, torch.inf).amin(dim=(1, 2, 3))
    high = x.masked_fill(gone, -torch.inf).amax(dim=(1, 2, 3))
    apart = (answers["ours"] - answers["theirs"]).abs().amax(dim=(1, 2, 3))
    return Race(median(ours), median(theirs), float((apart / (high - low)).max()))
