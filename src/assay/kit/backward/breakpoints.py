"""Breakpoints of a piecewise linear network on the line from one input to another.

Along the line the network is linear between breakpoints: positions where a ReLU's input changes its sign, where another
entry becomes the maximum, and so on. A piece of the line is settled when no call of the model bends on it. Otherwise
the inputs of the first call that bends, in the order of the computation, are linear on the piece, because no earlier
call bends. Its breakpoints thus follow exactly from the two ends. The piece is cut there, and its parts are examined.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

import torch
from torch import Tensor, nn

from assay.core.errors import NotApplicable
from assay.kit.backward.piecewise_linear import FUNCTION_NAMES, Slack, broadcast_rows, crossing_values
from assay.kit.backward.rules import CallReplacements, ModelCall

APART = 1e-12  # as a share of the line: closer breakpoints are merged


@dataclass(frozen=True, eq=False)
class Pieces:
    """Parts of the lines from ``start`` (0) to ``start + delta`` (1)."""

    sample: Tensor  # (S,) the sample whose line it is part of
    left: Tensor  # (S,) its left end
    right: Tensor  # (S,) its right end
    low: Tensor  # (S, C) the model's outputs at the left end; (S, 0) while it is not settled
    high: Tensor  # (S, C) at the right end

    @classmethod
    def open(cls, sample: Tensor, left: Tensor, right: Tensor) -> Pieces:
        """Pieces that are not settled."""
        return cls(sample, left, right, left.new_empty(len(left), 0), left.new_empty(len(left), 0))

    def __len__(self) -> int:
        return len(self.sample)

    def __getitem__(self, rows: Tensor | slice) -> Pieces:
        return Pieces(*(getattr(self, field.name)[rows] for field in fields(self)))

    def split(self, size: int) -> Iterator[Pieces]:
        return (self[start : start + size] for start in range(0, len(self), size))

    @classmethod
    def cat(cls, parts: list[Pieces]) -> Pieces:
        return cls(*(torch.cat([getattr(part, field.name) for part in parts]) for field in fields(cls)))

    def at(self, start: Tensor, delta: Tensor, share: float) -> Tensor:
        """The point at a share of every piece, 0 for its left and 1 for its right end: (S, *entries)."""
        alpha = self.left + share * (self.right - self.left)
        return start[self.sample] + alpha.view(-1, *[1] * (delta.dim() - 1)) * delta[self.sample]


def linear_pieces(module: nn.Module, start: Tensor, delta: Tensor, rows: int, limit: int) -> Pieces:
    """The settled pieces of every line, in order. One call of the model takes ``rows`` rows, two for each piece.

    NotApplicable where a line has more than ``limit`` pieces.
    """
    ends = start.new_zeros(len(start))
    unsettled = Pieces.open(torch.arange(len(start), device=start.device), ends, ends + 1)
    settled_parts: list[Pieces] = []
    count = torch.ones_like(unsettled.sample)
    while len(unsettled):
        unsettled_parts: list[Pieces] = []
        for part in unsettled.split(max(1, rows // 2)):
            new_parts, settled = _cut(module, start, delta, part)
            unsettled_parts.append(new_parts)
            settled_parts.append(settled)
            for pieces, change in ((part, -1), (new_parts, 1), (settled, 1)):
                count.index_add_(0, pieces.sample, torch.full_like(pieces.sample, change))
            if bool((count > limit).any()):
                raise NotApplicable(
                    f"needs at most {limit} straight pieces from baseline to sample ('limit'), and a sample has more"
                )
        unsettled = Pieces.cat(unsettled_parts)
    all_pieces = Pieces.cat(settled_parts)
    return all_pieces[_order(all_pieces.sample, all_pieces.left)]


def _cut(module: nn.Module, start: Tensor, delta: Tensor, pieces: Pieces) -> tuple[Pieces, Pieces]:
    """The parts into which bent pieces are cut, and the pieces that are settled."""
    search = BreakpointSearch(pieces)
    points = torch.cat([pieces.at(start, delta, 0.0), pieces.at(start, delta, 1.0)])
    with torch.no_grad(), CallReplacements(dict.fromkeys(FUNCTION_NAMES, search.record)):
        low, high = module(points).chunk(2)
    return search.parts(), Pieces(pieces.sample, pieces.left, pieces.right, low, high)[search.settled]


class BreakpointSearch:
    """Finds the pieces that bend, and where, while the model runs at their left ends and then at their right ends."""

    def __init__(self, pieces: Pieces) -> None:
        self.pieces = pieces
        self.slack = Slack(2 * len(pieces))
        self.settled = torch.ones(len(pieces), dtype=torch.bool, device=pieces.left.device)
        self.cut_pieces: list[Tensor] = []  # (N,) for each cut, the piece
        self.cut_positions: list[Tensor] = []  # (N,) for each cut, its position on the line

    def record(self, call: ModelCall, values: Tensor) -> Tensor:
        """Record where this call bends, for pieces on which no earlier call bends."""
        pieces = self.pieces
        slack = self.slack(values).view(2, -1).amax(dim=0)
        cuts = [_zeros(near, far, slack, self.settled) for near, far in crossing_values(call, values)]
        for piece, share in cuts:
            position = pieces.left[piece] + share * (pieces.right - pieces.left)[piece]
            inside = (position - pieces.left[piece] > APART) & (pieces.right[piece] - position > APART)
            self.cut_pieces.append(piece[inside])
            self.cut_positions.append(position[inside])
            self.settled = self.settled.index_fill(0, self.cut_pieces[-1], False)
        return call(values)

    def parts(self) -> Pieces:
        """The parts into which the bent pieces are cut."""
        bent = (~self.settled).nonzero().flatten()
        piece = torch.cat([*self.cut_pieces, bent, bent])
        position = torch.cat([*self.cut_positions, self.pieces.left[bent], self.pieces.right[bent]])
        order = _order(piece, position)
        piece, position = piece[order], position[order]
        distinct = torch.ones_like(piece, dtype=torch.bool)
        distinct[1:] = (piece[1:] != piece[:-1]) | (position[1:] - position[:-1] > APART)
        piece, position = piece[distinct], position[distinct]
        same = piece[1:] == piece[:-1]
        return Pieces.open(self.pieces.sample[piece[:-1][same]], position[:-1][same], position[1:][same])


def _zeros(near: Tensor, far: Tensor, slack: Tensor, straight_so_far: Tensor) -> tuple[Tensor, Tensor]:
    """For every number with a zero between the ends of its piece: the piece, and the zero as a share of the piece."""
    slack = broadcast_rows(near, torch.where(straight_so_far, slack, torch.inf))
    falls, rises = (near > slack) & (far < -slack), (near < -slack) & (far > slack)
    crossings = (falls | rises).nonzero(as_tuple=True)
    first, last = near[crossings], far[crossings]
    return crossings[0] // (len(near) // len(straight_so_far)), first / (first - last)


def _order(piece: Tensor, position: Tensor) -> Tensor:
    """Sorted by piece, and within a piece by position."""
    order = position.argsort()
    return order[piece[order].argsort(stable=True)]
