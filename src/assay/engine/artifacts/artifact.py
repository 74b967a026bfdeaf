"""An artifact is a result that is computed once: its inputs, its key, the artifacts it needs and its computation.

Each kind is one class in one file of this folder. A key digests the artifact's inputs and nothing else. So a new metric
recomputes no attribution, and a new method recomputes no probe. Only a score's key contains the number of samples.

Artifacts are described in the driver of a run and computed in its workers. The driver starts without torch, so what
needs torch is imported in ``compute``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from assay.core.records import Kind, digest

if TYPE_CHECKING:
    from assay.engine.artifacts.component import Component
    from assay.engine.artifacts.desk import Desk

FORMAT = 2  # increased when the meaning of stored numbers changes in general

Arrays = Mapping[str, npt.NDArray[np.generic]]


@dataclass(frozen=True)
class Computed:
    """The result of a computation: arrays to be stored, and small facts about them."""

    arrays: Arrays
    data: Mapping[str, Any]


class Artifact(Protocol):
    """What a plan lists and a worker computes."""

    kind: ClassVar[Kind]

    @property
    def key(self) -> str: ...

    @property
    def needs(self) -> tuple[Artifact, ...]:
        """Artifacts whose records must exist before this one is computed."""

    @property
    def group(self) -> Group:
        """Artifacts that take about as long as this one."""

    def compute(self, desk: Desk) -> Computed:
        """Raises NotApplicable where it does not apply; every other exception is a failure."""


def make_key(kind: str, **parts: Any) -> str:
    return digest({"format": FORMAT, "kind": kind, **parts})


class Group(NamedTuple):
    """The same work of the same components, for other samples and seeds: it takes about equally long."""

    kind: Kind
    component: Component  # whose work it is
    others: tuple[Component, ...] = ()  # the environment, and a method that is asked again
    size: int = 0  # samples, where the work depends on them

    @property
    def key(self) -> str:
        """The same in every process. Sizes are rounded up to a power of 2: a last block may be a little shorter."""
        identities = (component.identity for component in (self.component, *self.others))
        return _group_key(self.kind, max(0, self.size - 1).bit_length(), *identities)


@lru_cache(maxsize=2**14)
def _group_key(*parts: str | int) -> str:
    return digest(parts)[:16]


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


def split_blocks(samples: int, size: int, rows: int | None = None) -> tuple[Block, ...]:
    """Blocks that hold at least ``samples`` samples. Blocks are full, so that a later run with more samples reuses them
    all. Where the environment has only ``rows`` rows, the last block ends there."""
    return tuple(Block(start, min(start + size, rows or start + size)) for start in range(0, samples, size))


def default_block_size(kind: str) -> int:
    """Samples per block for a user's own rows. Models of images are slow: small blocks keep all cores busy. Models of
    tables are fast."""
    return 8 if kind == "image" else 64
