"""An artifact is something that is computed once: what it is made from, its key, what it needs, how it is computed.

Each kind is one class in one file of this folder. A key digests what the artifact is made from and nothing else, so
that adding a metric computes no attribution again and adding a method no probe. The number of samples is in no key but
a score's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from assay.core.records import Kind, digest

if TYPE_CHECKING:
    from assay.artifacts.desk import Desk

FORMAT = 2  # raised when the meaning of a stored number changes for everybody

Arrays = Mapping[str, npt.NDArray[np.generic]]


@dataclass(frozen=True)
class Made:
    """What a computation returns: arrays to be stored, and small facts about them."""

    arrays: Arrays
    data: Mapping[str, Any]


class Artifact(Protocol):
    """What a plan lists and a worker gets."""

    kind: ClassVar[Kind]

    @property
    def key(self) -> str: ...

    @property
    def needs(self) -> tuple[Artifact, ...]:
        """Artifacts whose records must be there before."""

    def compute(self, desk: Desk) -> Made:
        """May raise NotApplicable; every other exception is a failure."""


def make_key(kind: str, **parts: Any) -> str:
    return digest({"format": FORMAT, "kind": kind, **parts})


@dataclass(frozen=True)
class Block:
    """Samples start..stop-1 of an environment."""

    start: int
    stop: int

    @property
    def indices(self) -> range:
        return range(self.start, self.stop)

    def __len__(self) -> int:
        return self.stop - self.start

    def to_json(self) -> list[int]:
        return [self.start, self.stop]


def blocks(samples: int, size: int, rows: int | None = None) -> tuple[Block, ...]:
    """Blocks that hold at least ``samples`` samples. They are whole, so that more samples later compute none of them
    again; where there are only ``rows`` rows, the last one ends there."""
    return tuple(Block(start, min(start + size, rows or start + size)) for start in range(0, samples, size))


def own_block(kind: str) -> int:
    """Samples per block for rows of somebody's own. Models of images are slow, so that few of them keep all cores busy;
    models of tables are quick."""
    return 8 if kind == "image" else 64
