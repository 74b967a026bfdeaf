"""Rows, names and counts in sentences."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

MOST = 5  # that a sentence lists


def listed(items: Iterable[object], most: int = MOST) -> str:
    """The first ones, with commas between them."""
    names = [str(item) for item in items]
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def quoted(names: Iterable[object]) -> str:
    return listed(f"'{name}'" for name in names)


def counted(count: int, noun: str) -> str:
    """``1 row``, ``2 rows``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def of_rows(bad: Any) -> str:
    """How many of all rows, and which: ``2 of 100 rows (3, 7; counted from 0)``."""
    places = np.flatnonzero(np.asarray(bad))
    return f"{len(places):,} of {counted(len(bad), 'row')} ({listed(places)}; counted from 0)"
