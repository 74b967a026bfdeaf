"""Scores, numbers and lists as text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from assay.core.evidence import Score
from assay.stats.units import deviation


class Uncertain(Protocol):
    """A score's interval, and what it is based on."""

    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...
    @property
    def per_seed(self) -> Sequence[float | None]: ...
    @property
    def basis(self) -> str: ...


def _unchanged(text: str) -> str:
    return text


@dataclass(frozen=True)
class Markup:
    """How a medium (terminal, Markdown, LaTeX) marks the parts of a score."""

    value: Callable[[str], str] = _unchanged
    best: Callable[[str], str] = _unchanged  # the value, where it is the best of its column
    interval: Callable[[str], str] = _unchanged
    count: Callable[[str], str] = _unchanged
    missing: Callable[[str], str] = _unchanged  # "undefined", "skipped" or "failed"
    short: bool = False  # intervals without brackets and leading zeros
    deviation: str = ""  # what stands before the standard deviation over seeds; empty: it is not shown


PLAIN = Markup()


def score_text(score: Score, best: bool = False, markup: Markup = PLAIN) -> str:
    """``0.250 [0.200, 0.300] 7/8``: the value, its interval and, where some samples are undefined, how many count."""
    if score.value is None:
        return markup.missing("undefined" if score.status == "ok" else score.status)
    value = number(score.value)
    parts = [markup.best(value) if best else markup.value(value)]
    if markup.deviation and (spread := deviation(score.per_seed)) is not None:
        parts.append(f"{markup.deviation} {number(spread)}")
    if interval := interval_text(score, markup.short):
        parts.append(markup.interval(interval))
    if score.defined < score.count:
        parts.append(markup.count(f"{score.defined}/{score.count}"))
    return " ".join(parts)


def number(value: float) -> str:
    """Three decimals; three significant digits for very small and very large values."""
    if value == 0 or 0.0005 <= abs(value) < 10_000:
        return f"{value:.3f}"
    return f"{value:.2e}"


def without_leading_zero(value: float) -> str:
    """A number without the 0 before the decimal point: ``.250``."""
    text = number(value)
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text


def interval_text(score: Uncertain, short: bool = False) -> str:
    """The interval, or both values where two seeds have no interval; otherwise empty."""
    text_of = without_leading_zero if short else number
    if score.low is not None and score.high is not None:
        ends = text_of(score.low), text_of(score.high)
        return "–".join(ends) if short else f"[{', '.join(ends)}]"
    if score.basis == "two":
        return f"({' | '.join(text_of(value) for value in score.per_seed if value is not None)})"
    return ""


def interval_notes(metric_scores: Iterable[tuple[str, Uncertain]]) -> Iterator[str]:
    """What the intervals of scores are over, and why some scores have none: one sentence each.

    Every score comes with its metric, which is named where metrics differ in what their intervals are over.
    """
    scores = list(metric_scores)
    seeds = max((len(score.per_seed) for _, score in scores), default=0)
    metrics_by_basis: dict[str, set[str]] = {}
    for metric, score in scores:
        metrics_by_basis.setdefault(score.basis, set()).add(metric)
    bases = [basis for basis in _OVER if basis in metrics_by_basis]
    for basis in bases:
        names = [
            metric for metric in dict.fromkeys(metric for metric, _ in scores) if metric in metrics_by_basis[basis]
        ]
        of_metrics = f" of {listed(names)}" if len(bases) > 1 else ""
        yield f"95 % intervals{of_metrics} over {_OVER[basis].format(seeds=counted(seeds, 'seed'))}"
    if "two" in metrics_by_basis:
        yield "two seeds draw two models: both values, no interval"
    if "count" in metrics_by_basis:
        counting = listed(sorted(metrics_by_basis["count"]))
        yield f"no interval of {counting}, which depends on the number of samples: give 3 seeds or more"
    if "equal" in metrics_by_basis:
        extent = {0: "on all samples", 1: "on all samples", 2: "in both seeds"}.get(seeds, f"in all {seeds} seeds")
        yield f"no interval: equal {extent}"


_OVER = {
    "seeds": "{seeds}",
    "samples": "samples",
    "draw": "the samples of one draw: other draws of the model may differ",
}


def percent(value: float) -> str:
    """A share as a percentage with two digits."""
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
    """A number of bytes in the largest unit that fits."""
    for factor, unit in ((2**30, "GB"), (2**20, "MB"), (2**10, "kB")):
        if count >= factor:
            return f"{count / factor:.4g} {unit}"
    return f"{count} bytes"


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def verb(word: str, subjects: Sequence[str]) -> str:
    """The verb in agreement with its subjects: ``reads`` for one, ``read`` for several."""
    return f"{word}s" if len(subjects) == 1 else word


def listed(words: Sequence[str]) -> str:
    """``a, b and c``."""
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def shortened(label: str, most: int = 26) -> str:
    """A label without its middle, if it is long: copies of one item differ at their ends."""
    return label if len(label) <= most else f"{label[: most // 2 - 1]}…{label[-(most // 2) :]}"


def slug(label: str) -> str:
    """A label as part of a file name."""
    ascii_label = unicodedata.normalize("NFKD", label).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", ascii_label).strip("-")[:40].strip("-")
