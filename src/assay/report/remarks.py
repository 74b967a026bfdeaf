"""Remarks about a method's attributions: the gap to what it promises they add up to, and the method's own notes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from assay.report.text import percent

LARGE_GAP = 0.1  # as a share of what was promised: larger gaps are marked


@dataclass(frozen=True)
class MethodRemarks:
    """Remarks about one method in one environment, over all samples and seeds."""

    gap: float | None = None  # sum of |gap| over sum of |promise|; None: nothing promised, or only zeros
    mark: str = ""  # what a large gap means
    notes: tuple[str, ...] = ()
    positive_only: bool = False  # the method gives no negative value by design
    grid: str = ""  # what its maps are made of, where they are coarser than the features

    def __str__(self) -> str:
        """A large gap and the notes; empty without them."""
        gap = [f"gap {percent(self.gap)}, {self.mark}"] if self.mark and self.gap is not None else []
        return "; ".join([*gap, *self.notes])


def gap_mark(gap: float | None, remedy: str) -> str:
    """What a large gap means: an integral or a sampling did not converge, with the remedy; or a rule does not hold
    here. Empty for a small gap."""
    if gap is None or gap <= LARGE_GAP:
        return ""
    return f"not converged: {remedy}" if remedy else "does not add up here"


def method_remarks(trials: Iterable[Mapping[str, Any]]) -> MethodRemarks:
    """Remarks from the data of one method's trials in one environment."""
    trial_list = list(trials)
    completeness = [trial["completeness"] for trial in trial_list if "completeness" in trial]
    promised = sum(block["promised"] for block in completeness)
    gap = sum(block["gap"] for block in completeness) / promised if promised > 0 else None
    remedy = next((str(block["remedy"]) for block in completeness if block.get("remedy")), "")
    return MethodRemarks(
        gap,
        gap_mark(gap, remedy),
        notes_with_counts(trial_list),
        any(trial.get("positive_only") for trial in trial_list),
        " or ".join(dict.fromkeys(trial["grid"] for trial in trial_list if "grid" in trial)),
    )


def notes_with_counts(trials: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Every note once, with the number of its samples unless it is about all of them."""
    counts: dict[str, int] = {}
    samples = 0
    for trial in trials:
        start, stop = trial["block"]
        samples += stop - start
        for text, count in trial.get("notes", {}).items():
            counts[text] = counts.get(text, 0) + count
    return tuple(
        text if count >= samples else f"{text} ({count} of {samples} samples)" for text, count in counts.items()
    )
