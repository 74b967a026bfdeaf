"""Where a network made of straight pieces bends on the way from one input to another.

Along a line such a network is linear between breakpoints: places where a ReLU's input changes its sign, where a maximum
goes to another entry, and so on. A piece of the line is settled when no call of the model bends on it. Otherwise the
first call that does, in the order of the computation, has inputs that are linear on the piece, as nothing before it
bends: its breakpoints follow exactly from the two ends. The piece is cut there, and the parts are looked at again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

import torch
from torch import Tensor, nn

from assay.core.errors import NotApplicable
from assay.kit.kinks import NAMES, Slack, beside, differences
from assay.kit.rules import Answers, Asked

APART = 1e-12  # of the line: breakpoints that are closer are one


@dataclass(frozen=True, eq=False)
class Pieces:
    """Parts of the lines from ``start`` (0) to ``start + delta`` (1)."""

    sample: Tensor  # (S,) whose line
    left: Tensor  # (S,) where it begins
    right: Tensor  # (S,) where it ends
    low: Tensor  # (S, C) the model's outputs at its left end; (S, 0) while it is not settled
    high: Tensor  # (S, C) at its right end

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

    def at(self, start: Tensor, delta: Tensor, place: float) -> Tensor:
        """The point at a share of every piece, 0 its left and 1 its right end: (S, *entries)."""
        alpha = self.left + place * (self.right - self.left)
        return start[self.sample] + alpha.view(-1, *[1] * (delta.dim() - 1)) * delta[self.sample]


def straight_pieces(module: nn.Module, start: Tensor, delta: Tensor, rows: int, limit: int) -> Pieces:
    """The settled pieces of every line, in order. ``rows`` go into one call of the model; a piece needs two.

    NotApplicable where a line has more than ``limit`` pieces.
    """
    ends = start.new_zeros(len(start))
    todo = Pieces.open(torch.arange(len(start), device=start.device), ends, ends + 1)
    done: list[Pieces] = []
    count = torch.ones_like(todo.sample)
    while len(todo):
        cut: list[Pieces] = []
        for part in todo.split(max(1, rows // 2)):
            parts, settled = _cut(module, start, delta, part)
            cut.append(parts)
            done.append(settled)
            for pieces, change in ((part, -1), (parts, 1), (settled, 1)):
                count.index_add_(0, pieces.sample, torch.full_like(pieces.sample, change))
            if bool((count > limit).any()):
                raise NotApplicable(
                    f"needs at most {limit} straight pieces from baseline to sample ('limit'), and a sample has more"
                )
        todo = Pieces.cat(cut)
    found = Pieces.cat(done)
    return found[_order(found.sample, found.left)]


def _cut(module: nn.Module, start: Tensor, delta: Tensor, pieces: Pieces) -> tuple[Pieces, Pieces]:
    """The parts of pieces that bend, cut where they do, and the pieces that do not."""
    bent = Bent(pieces)
    points = torch.cat([pieces.at(start, delta, 0.0), pieces.at(start, delta, 1.0)])
    with torch.no_grad(), Answers(dict.fromkeys(NAMES, bent.note)):
        low, high = module(points).chunk(2)
    return bent.parts(), Pieces(pieces.sample, pieces.left, pieces.right, low, high)[bent.settled]


class Bent:
    """Which of the pieces bend, and where, found while the model runs at their left and then at their right ends."""

    def __init__(self, pieces: Pieces) -> None:
        self.pieces = pieces
        self.slack = Slack(2 * len(pieces))
        self.settled = torch.ones(len(pieces), dtype=torch.bool, device=pieces.left.device)
        self.which: list[Tensor] = []  # (N,) pieces that are cut
        self.where: list[Tensor] = []  # (N,) and the place

    def note(self, asked: Asked, values: Tensor) -> Tensor:
        """Of pieces that have not bent so far, keep where this call bends."""
        pieces = self.pieces
        slack = self.slack(values).view(2, -1).amax(dim=0)
        cuts = [_zeros(near, far, slack, self.settled) for near, far in differences(asked, values)]
        for piece, share in cuts:
            where = pieces.left[piece] + share * (pieces.right - pieces.left)[piece]
            inside = (where - pieces.left[piece] > APART) & (pieces.right[piece] - where > APART)
            self.which.append(piece[inside])
            self.where.append(where[inside])
            self.settled = self.settled.index_fill(0, self.which[-1], False)
        return asked(values)

    def parts(self) -> Pieces:
        cut = (~self.settled).nonzero().flatten()
        which = torch.cat([*self.which, cut, cut])
        where = torch.cat([*self.where, self.pieces.left[cut], self.pieces.right[cut]])
        order = _order(which, where)
        which, where = which[order], where[order]
        new = torch.ones_like(which, dtype=torch.bool)
        new[1:] = (which[1:] != which[:-1]) | (where[1:] - where[:-1] > APART)
        which, where = which[new], where[new]
        same = which[1:] == which[:-1]
        return Pieces.open(self.pieces.sample[which[:-1][same]], where[:-1][same], where[1:][same])


def _zeros(near: Tensor, far: Tensor, slack: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """Which pieces have a zero between their ends, and at which share of the piece; once per number that has one."""
    slack = beside(near, torch.where(wanted, slack, torch.inf))
    falls, rises = (near > slack) & (far < -slack), (near < -slack) & (far > slack)
    places = (falls | rises).nonzero(as_tuple=True)
    first, last = near[places], far[places]
    return places[0] // (len(near) // len(wanted)), first / (first - last)


def _order(which: Tensor, where: Tensor) -> Tensor:
    """By piece, and within it by place."""
    order = where.argsort()
    return order[which[order].argsort(stable=True)]
