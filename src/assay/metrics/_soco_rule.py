"""Algorithm 3 of Li et al. (2024) on what is known per sample: which steps are false, and what is left of the map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
TINY = 1e-9  # two accuracies that differ by this much are equal: 0.03 - 0.02 is 0.01, whatever floats say


@dataclass(frozen=True)
class Rule:
    """When a step is false."""

    threshold: float  # a rise below it is none
    strict: bool  # below it, or also equal to it
    start: float  # up to this performance of the set, no step is false
    lag: bool  # a step's own false attribution counts from the next step on

    def soundness(self, level: Numbers, kept: Numbers, own: Numbers | None = None) -> Numbers:
        """The share (N, K) of attribution that is not false, after each step.

        ``level`` (K,) is the performance of the set, 0 before the first step; ``kept`` (N, K) the attribution of the
        features that are in; ``own`` (N, 1 + K) each sample's score before any step and after each: with it, every
        sample's own rise decides for it, otherwise the set's for all.
        """
        if own is not None:
            false = self._low(np.diff(own, axis=1))
        else:
            false = self._low(np.diff(level, prepend=0.0)) & (level > self.start + TINY)
        lost = np.cumsum(np.diff(kept, axis=1, prepend=0.0) * false, axis=1)
        if self.lag:
            lost = np.concatenate([np.zeros_like(lost[:, :1]), lost[:, :-1]], axis=1)
        return np.clip(1 - lost / kept, 0.0, 1.0)

    def halved(self, level: Numbers, size: int) -> npt.NDArray[np.int64]:
        """The last of each step's columns when a step of ``size`` columns that raises the level is redone in two
        halves, and so on; steps that raise nothing stay whole."""
        left = [(start, min(start + size, len(level))) for start in reversed(range(0, len(level), size))]
        found = []
        while left:
            start, stop = left.pop()
            rise = level[stop - 1] - (level[start - 1] if start else 0.0)
            if stop - start == 1 or self._low(rise):
                found.append(stop - 1)
                continue
            half = 1 << (stop - start - 1).bit_length() - 1  # the largest power of two below the length
            left += [(start + half, stop), (start, start + half)]
        return np.array(found)

    def _low(self, rise: Numbers | float) -> npt.NDArray[np.bool_]:
        low = rise < self.threshold - TINY if self.strict else rise <= self.threshold + TINY
        return np.asarray(low)


def first_reaching(level: Numbers, wanted: Sequence[float]) -> list[int]:
    """The first step at which each wanted level is reached, where it is reached at all."""
    reached = [np.flatnonzero(level >= value - TINY) for value in wanted]
    return [int(steps[0]) for steps in reached if len(steps)]
