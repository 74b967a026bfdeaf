"""What methods said about their answers: how far these are from adding up to what was promised, and other notes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

MARKED = 0.1  # of what was promised: larger gaps are marked


@dataclass(frozen=True)
class Said:
    """About one method in one environment, over all samples and seeds."""

    gap: float | None = None  # sum of the sizes of gaps over that of promises; None: nothing, or only zeros
    mark: str = ""  # what a large gap means
    notes: tuple[str, ...] = ()
    positive_only: bool = False  # the method gives no negative value by design


def marked(gap: float | None, remedy: str) -> str:
    """What a gap says that is too large: an integral or a sampling that did not converge, and what to change; or a
    rule that does not hold here."""
    if gap is None or gap <= MARKED:
        return ""
    return f"not converged: {remedy}" if remedy else "does not add up here"


def said(facts: Iterable[Mapping[str, Any]]) -> Said:
    """From the data of one method's trials in one environment."""
    data = list(facts)
    sums = [found["completeness"] for found in data if "completeness" in found]
    promised = sum(found["promised"] for found in sums)
    gap = sum(found["gap"] for found in sums) / promised if promised > 0 else None
    remedy = next((str(found["remedy"]) for found in sums if found.get("remedy")), "")
    return Said(gap, marked(gap, remedy), noted(data), any(found.get("positive_only") for found in data))


def noted(data: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Every note once, with the number of samples it is about unless that is all of them."""
    counts: dict[str, int] = {}
    samples = 0
    for found in data:
        start, stop = found["block"]
        samples += stop - start
        for text, count in found.get("notes", {}).items():
            counts[text] = counts.get(text, 0) + count
    return tuple(
        text if count >= samples else f"{text} ({count} of {samples} samples)" for text, count in counts.items()
    )
