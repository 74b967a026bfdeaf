"""What a study file may hold at most, so that no file exhausts time or memory before it is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

LONGEST_FILE = 2**20  # bytes
LONGEST_TEXT = 1_000  # characters of a label or a title
DEEPEST = 10  # tables and lists within each other
MOST_SEEDS = 10_000  # that a number stands for
MOST_ITEMS = 1_000  # components of a kind
LARGEST_BLOCK = 100_000  # samples
LARGEST_GALLERY = 1_000  # samples
INT64 = range(-(2**63), 2**63)  # whole numbers that tables of results can hold

# The parser takes a time that grows with the square of a dotted key's length.
_KEY = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')"""
_LONG_KEY = re.compile(rf"""(?<![\w"'.-])(?:{_KEY}[ \t]*\.[ \t]*){{{DEEPEST * 2}}}""")


def has_long_key(text: str) -> bool:
    """Whether a TOML text has a dotted key of very many parts."""
    return _LONG_KEY.search(text) is not None


def excesses(value: Any, name: str = "study", depth: int = 0) -> Iterator[str]:
    """What exceeds the limits anywhere in a table, as sentences."""
    if depth > DEEPEST:
        yield f"{name}: tables and lists are nested more than {DEEPEST} deep"
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from excesses(item, str(key), depth + 1)
    elif isinstance(value, list):
        for item in value:
            yield from excesses(item, name, depth + 1)
    elif isinstance(value, int) and value not in INT64:
        yield f"{name}: a whole number is too large (64 bits hold at most {INT64[-1]})"
