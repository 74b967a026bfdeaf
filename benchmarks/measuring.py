"""Speed compared with a peer: one process, one thread, alternating runs, the median; numbers are compared, too.

Tasks without a peer measure what they state, in rows of the same form.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any, Protocol

from torch import Tensor


class Measured(Protocol):
    def rows(self, task: str, repeats: int) -> list[dict[str, Any]]:
        """Rows in display order, with who, figure and ratio; all have the same note."""


@dataclass(frozen=True)
class Problem:
    """The same work, done by us and by a peer."""

    statement: str
    count: int  # explanations per run
    ours: Callable[[], Tensor]
    theirs: Callable[[], Tensor]
    peer: str

    def rows(self, task: str, repeats: int) -> list[dict[str, Any]]:
        """Explanations per second: ours and the peer's."""
        mine, yours = self.ours(), self.theirs()  # warms up
        difference = float((mine - yours).abs().max() / yours.abs().max())
        ours, theirs = [], []
        for _ in range(repeats):  # alternating, so that other load on the machine affects both
            ours.append(seconds(self.ours))
            theirs.append(seconds(self.theirs))
        rates = [self.count / median(times) for times in (ours, theirs)]
        equal = f"{difference:.1e} of the largest"
        common = {"task": task, "problem": self.statement, "repeats": repeats, "note": f"largest difference: {equal}"}
        figures = [{"rate": rate, "figure": f"{rate:,.{1 if rate >= 10 else 2}f} /s"} for rate in rates]
        return [
            {**common, "who": "assay", **figures[0], "ratio": f"{rates[0] / rates[1]:.1f}x", "difference": equal},
            {**common, "who": self.peer, **figures[1], "ratio": "1.0x", "difference": ""},
        ]


def seconds(work: Callable[[], object]) -> float:
    """CPU time of this process."""
    start = time.process_time()
    work()
    return time.process_time() - start
