"""Numbers and lists as a reader sees them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol


class Uncertain(Protocol):
    """A score, and what is known of its spread."""

    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...
    @property
    def per_seed(self) -> Sequence[float | None]: ...
    @property
    def basis(self) -> str: ...


def number(value: float) -> str:
    """Three decimals, or three digits where these would show nothing."""
    if value == 0 or 0.0005 <= abs(value) < 10_000:
        return f"{value:.3f}"
    return f"{value:.2e}"


def brief(value: float) -> str:
    """Without the 0 before the point, where there is nothing else before it."""
    text = f"{value:.3f}"
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text


def spread(found: Uncertain, short: bool = False) -> str:
    """The interval, or both values where there are two; else nothing."""
    told = brief if short else number
    if found.low is not None and found.high is not None:
        ends = told(found.low), told(found.high)
        return "–".join(ends) if short else f"[{', '.join(ends)}]"
    if found.basis == "two":
        return f"({' | '.join(told(value) for value in found.per_seed if value is not None)})"
    return ""


def bases(found: Iterable[tuple[str, Uncertain]]) -> Iterator[str]:
    """What the intervals of some scores are over, and why some have none: a sentence each. Scores go by their metric,
    which is named where intervals differ in it."""
    scores = list(found)
    seeds = max((len(score.per_seed) for _, score in scores), default=0)
    metrics: dict[str, set[str]] = {}
    for metric, score in scores:
        metrics.setdefault(score.basis, set()).add(metric)
    over = [basis for basis in _OVER if basis in metrics]
    for basis in over:
        names = [metric for metric in dict.fromkeys(metric for metric, _ in scores) if metric in metrics[basis]]
        of = f" of {listed(names)}" if len(over) > 1 else ""
        yield f"95 % intervals{of} over {_OVER[basis].format(seeds=counted(seeds, 'seed'))}"
    if "two" in metrics:
        yield "two seeds draw two models: both values, no interval"
    if "equal" in metrics:
        where = {0: "on all samples", 1: "on all samples", 2: "in both seeds"}.get(seeds, f"in all {seeds} seeds")
        yield f"no interval: equal {where}"


_OVER = {
    "seeds": "{seeds}",
    "samples": "samples",
    "draw": "the samples of one draw: other draws of the model may differ",
}


def share(value: float) -> str:
    """A percentage with two digits."""
    percent = 100 * value
    if percent >= 10:
        return f"{percent:.0f} %"
    return f"{percent:.2g} %" if percent >= 0.1 or percent == 0 else "<0.1 %"


def seconds(value: float) -> str:
    """Two digits and a unit."""
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if value * factor >= 1:
            return f"{value * factor:.2g} {unit}" if value * factor < 10 else f"{value * factor:.0f} {unit}"
    return f"{value * 1e6:.1g} µs" if value else "0 s"


def size(count: int) -> str:
    """Bytes, in the unit that suits."""
    for factor, unit in ((2**30, "GB"), (2**20, "MB"), (2**10, "kB")):
        if count >= factor:
            return f"{count / factor:.4g} {unit}"
    return f"{count} bytes"


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def verb(word: str, subjects: Sequence[str]) -> str:
    """``reads`` of one, ``read`` of several."""
    return f"{word}s" if len(subjects) == 1 else word


def listed(words: Sequence[str]) -> str:
    """``a, b and c``."""
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def slug(label: str) -> str:
    """A label as part of a file name."""
    plain = unicodedata.normalize("NFKD", label).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:40].strip("-")
