"""Maps on a grid (``core/map_grid.py``): which maps lie on it, and the best F1 that they can reach."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse import csr_array, hstack, kron
from torch import Tensor

from assay.core.map_grid import Cells, MapGrid, Nodes

Floats = npt.NDArray[np.float64]


def lies_on(grid: MapGrid, maps: Tensor) -> Tensor:
    """Which maps (B, *features) are made as the grid says, bool (B,)."""
    if not grid.fits(maps):
        return torch.zeros(len(maps), dtype=torch.bool, device=maps.device)
    values = maps.double()
    limit = torch.finfo(maps.dtype).eps ** 0.5 * values.abs().flatten(1).amax(dim=1)
    if isinstance(grid, Cells):
        return torch.le(_spread_in_cells(_labels(grid, maps), values.flatten(1)), limit)
    down, across = grid.down.to(values), grid.across.to(values)
    numbers = torch.linalg.pinv(down) @ values @ torch.linalg.pinv(across).T
    error = (down @ numbers @ across.T - values).abs().flatten(1).amax(dim=1)
    return torch.le(torch.maximum(error, -numbers.flatten(1).amin(dim=1)), limit)


def best_f1(true: Tensor, size: Tensor) -> Tensor:
    """The largest F1 (B,) of maps with one number from 0 to 1 per cell, given the truth (B, cells) that lies in each
    cell and its size.

    2 sum(c true) / (sum(c size) + sum(true)) is largest where c is 1 in the cells with the largest share of truth and 0
    in all others.
    """
    order = (true / size.clamp(min=1e-300)).argsort(dim=1, descending=True)
    hits, claimed = (values.gather(1, order).cumsum(dim=1) for values in (true, size))
    total = true.sum(dim=1, keepdim=True)
    return (2 * hits / (claimed + total).clamp(min=1e-300)).amax(dim=1)


def best_f1_on(grid: MapGrid, true: Tensor) -> Tensor:
    """The largest F1 (B,) of maps on the grid against a truth (B, *features) from 0 to 1, in float64."""
    if isinstance(grid, Nodes):
        return true.new_tensor(_best_of_nodes(grid, true))
    labels = _labels(grid, true)
    sums = true.new_zeros(len(true), int(labels.max()) + 1)
    size = sums.scatter_add(1, labels, torch.ones_like(true.flatten(1)))
    return best_f1(sums.scatter_add(1, labels, true.flatten(1)), size)


def _labels(grid: Cells, maps: Tensor) -> Tensor:
    """(B, P): the cell of every feature of every map."""
    return grid.cells.to(maps.device).long().flatten(1).expand(len(maps), -1)


def _spread_in_cells(labels: Tensor, values: Tensor) -> Tensor:
    """The largest difference (B,) of two values in one cell."""
    empty = values.new_zeros(len(values), int(labels.max()) + 1)
    high, low = (empty.scatter_reduce(1, labels, values, how, include_self=False) for how in ("amax", "amin"))
    return (high - low).amax(dim=1)


def _best_of_nodes(grid: Nodes, true: Tensor) -> list[float]:
    down, across = (axis.to(true) for axis in (grid.down, grid.across))
    under = (down.T @ true @ across).flatten(1)  # (B, nodes): the truth under each node
    size = torch.outer(down.sum(dim=0), across.sum(dim=0)).flatten()
    # Numbers from 0 to 1 are possible, so this much can be reached. A node with a smaller share of truth than half of
    # it lowers F1: few of the unknowns stay.
    reached = best_f1(under, size.expand_as(under))
    useful = (under > reached.unsqueeze(1) / 2 * size).cpu().numpy()
    peaks = kron(*(csr_array(_peaks(axis.cpu().numpy())) for axis in (down, across))).tocsc()
    shares, sizes = (values.cpu().numpy() for values in (under, size))
    return [
        _linear_fractional(share[some], sizes[some], share.sum(), peaks[:, np.flatnonzero(some)])
        for share, some in zip(shares, useful, strict=True)
    ]


def _peaks(weights: Floats) -> Floats:
    """The rows of an axis where a map can be largest. A pixel whose weights are the mean of its neighbours' lies on a
    straight line between two pixels that stay."""
    bent = np.abs(weights[:-2] - 2 * weights[1:-1] + weights[2:]).max(axis=1, initial=0) > 1e-12
    rows: Floats = weights[np.concatenate([[True], bent, [True]])[: len(weights)]]
    return rows


def _linear_fractional(share: Floats, size: Floats, total: float, pixels: csr_array) -> float:
    """The largest 2 share c / (size c + total) over c >= 0 with pixels c <= 1; 0 if nothing is true.

    With y = t c and t = total / (size c + total) this is a linear programme (Charnes and Cooper, 1962).
    """
    from scipy.optimize import linprog

    if not len(share):
        return 0.0
    touched = pixels[np.unique(pixels.indices)]
    limits = hstack([touched, -np.ones((touched.shape[0], 1))])
    equation = np.append(size / total, 1.0)[None]
    solution = linprog(-2 * np.append(share / total, 0.0), limits, np.zeros(touched.shape[0]), equation, [1.0])
    return float(-solution.fun)
