"""Numbers and lists as a reader sees them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence


def number(value: float) -> str:
    """Three decimals, or three digits where these would show nothing."""
    if value == 0 or 0.0005 <= abs(value) < 10_000:
        return f"{value:.3f}"
    return f"{value:.2e}"


def span(low: float, high: float) -> str:
    return f"[{number(low)}, {number(high)}]"


def rank(value: float) -> str:
    """Ties share their average rank, so a rank may end in a half, or in thirds when it is a mean."""
    return f"{value:.1f}".removesuffix(".0")


def share(value: float) -> str:
    """A percentage with two digits."""
    percent = 100 * value
    if percent >= 10:
        return f"{percent:.0f} %"
    return f"{percent:.2g} %" if percent >= 0.01 or percent == 0 else f"{percent:.0e} %"


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
