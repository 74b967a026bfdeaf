"""Algorithm 3 of Li et al. (2024) on values per sample: which steps are false, and what share of the map is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
TINY = 1e-9  # accuracies that differ by less are equal: in floats, 0.03 - 0.02 is not 0.01


@dataclass(frozen=True)
class Rule:
    """When a step is false."""

    threshold: float  # a step that raises the performance by less is false
    strict: bool  # True: a rise equal to the threshold counts; False: that step is false, too
    start: float  # no step is false up to this performance of the set
    lag: bool  # a step's false attribution counts from the next step on

    def soundness(self, level: Numbers, included: Numbers, scores: Numbers | None = None) -> Numbers:
        """The share (N, K) of attribution that is not false, after each step.

        ``level`` (K,): the performance of the set, which is 0 before the first step. ``included`` (N, K): the
        attribution of the features added so far. ``scores`` (N, 1 + K): each sample's score before any step and after
        each; if given, the rise of a sample's own score decides for that sample, otherwise the rise of the level
        decides for all.
        """
        if scores is not None:
            false = self._too_small(np.diff(scores, axis=1))
        else:
            false = self._too_small(np.diff(level, prepend=0.0)) & (level > self.start + TINY)
        false_sum = np.cumsum(np.diff(included, axis=1, prepend=0.0) * false, axis=1)
        if self.lag:
            false_sum = np.concatenate([np.zeros_like(false_sum[:, :1]), false_sum[:, :-1]], axis=1)
        return np.clip(1 - false_sum / included, 0.0, 1.0)

    def halved(self, level: Numbers, size: int) -> npt.NDArray[np.int64]:
        """The last column of each step, where steps begin with ``size`` columns.

        A step that raises the level is redone in two halves, and so on; all other steps stay whole.
        """
        pending = [(start, min(start + size, len(level))) for start in reversed(range(0, len(level), size))]
        ends = []
        while pending:
            start, stop = pending.pop()
            rise = level[stop - 1] - (level[start - 1] if start else 0.0)
            if stop - start == 1 or self._too_small(rise):
                ends.append(stop - 1)
                continue
            half = 1 << (stop - start - 1).bit_length() - 1  # the largest power of two below the length
            pending += [(start + half, stop), (start, start + half)]
        return np.array(ends)

    def _too_small(self, rise: Numbers | float) -> npt.NDArray[np.bool_]:
        too_small = rise < self.threshold - TINY if self.strict else rise <= self.threshold + TINY
        return np.asarray(too_small)


def first_reaching(level: Numbers, levels: Sequence[float]) -> list[int]:
    """The first step that reaches each level, leaving out levels that no step reaches."""
    reached = [np.flatnonzero(level >= wanted - TINY) for wanted in levels]
    return [int(steps[0]) for steps in reached if len(steps)]
