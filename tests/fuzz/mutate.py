"""Changes sound inputs into unsound ones: text by tokens, bytes by bits and pieces, tables and records by values."""

from __future__ import annotations

import copy
import random
import re
import struct
from typing import Any

TOKENS = re.compile(r"\w+|\s+|[^\w\s]")
WORDS = (
    *("", "\x00", "\x1b[2J", "\u202e", "\ud800", "é", "💥", "</script>", "../../x", "/etc/x", "%s{}", "'", '"', '"""'),
    *("(", ")", "[", "]", "{", "}", "=", ",", ".", ":", "**", "#", "\n", "\\", "-", "_" * 300, "x" * 5_000),
    *("nan", "inf", "-inf", "1e400", "-0", "0", "1", "-1", "9" * 30, "9" * 5_000, "0x" + "f" * 4_000, "1e-400"),
    *("true", "none", "None", "1979-05-27", "use", "label", "only", "seeds", "samples", "block", "question", "by"),
    *("gradient", "smoothed", "f1", "own", "deletion", "nowhere:thing", "json:dumps", "a.b.c:d", "smoothed(of="),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**31, 2**63, -(2**63), 10**30, 1e308, -1e308, 1e-320, float("nan"), float("inf")),
    *("", "x", "ok", "failed", "../../x", "\x1b[2J", "\ud800", "<script>", "f" * 64, "0" * 64, "x" * 10_000),
    *([], {}, [[]], [None], {"": None}, [0] * 100, ["x"] * 100, {"name": "x"}),
)
NUMBERS = (0, 1, 127, 128, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**64 - 1)


def text(draw: random.Random, sound: str) -> str:
    """A text with a few tokens deleted, repeated, moved or replaced, or nested many times."""
    tokens = TOKENS.findall(sound)
    for _ in range(draw.choice((1, 1, 1, 2, 3, 8))):
        at, other = (draw.randrange(len(tokens)) if tokens else 0 for _ in range(2))
        match draw.randrange(9):
            case 0:
                del tokens[at : at + draw.choice((1, 1, 5, 50))]
            case 1:
                tokens[at:at] = tokens[other : other + draw.choice((1, 10, 100))]
            case 2 if tokens:
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case 3:
                tokens[at : at + 1] = [draw.choice(WORDS)]
            case 4:
                tokens[at:at] = [draw.choice(WORDS) * draw.choice((1, 2, 30, 400))]
            case 5:
                words = [number for number, token in enumerate(tokens) if token.isidentifier()]
                if words:  # a name for a name
                    tokens[draw.choice(words)] = tokens[draw.choice(words)]
            case 6:
                numbers = [number for number, token in enumerate(tokens) if token.isdigit()]
                if numbers:
                    tokens[draw.choice(numbers)] = draw.choice(("0", "1", "2", "3.5", "-1", "9" * 12, "1e9", "1e400"))
            case 7 if tokens:
                tokens[at] = chr(draw.choice((draw.randrange(0x80), draw.randrange(0x11000)))) + tokens[at][1:]
            case _:
                opening, closing = draw.choice(("[]", "()", "{}", ("{a=", "}"), ("smoothed(of=", ")"), ("a.", "")))
                times = draw.choice((2, 15, 60, 300, 3_000))
                tokens[at : at + 1] = [opening * times, *tokens[at : at + 1], closing * times]
    return "".join(tokens)


def data(draw: random.Random, sound: bytes) -> bytes:
    """Bytes that are flipped, cut, repeated, moved or replaced by extreme numbers."""
    changed = bytearray(sound)
    for _ in range(draw.choice((1, 1, 2, 4, 16))):
        size = len(changed)
        # The beginning and the end of a file say how to read it, so that they are changed more often.
        at = draw.choice(
            (draw.randrange(size or 1), draw.randrange(min(size, 128) or 1), max(0, size - 1 - draw.randrange(128)))
        )
        match draw.randrange(6):
            case 0 if changed:
                changed[at] ^= 1 << draw.randrange(8)
            case 1 if changed:
                changed[at] = draw.choice((0, 0xFF, 0x80, draw.randrange(256)))
            case 2:
                del changed[at : draw.choice((at + 1, at + draw.randrange(1, 64), size))]
            case 3:
                changed[at:at] = changed[: draw.randrange(1, 64)]
            case 4:
                changed[at : at + 8] = struct.pack(draw.choice("<>") + "Q", draw.choice(NUMBERS))
            case _:
                changed[at : at + 4] = struct.pack(draw.choice("<>") + "I", draw.choice(NUMBERS) % 2**32)
    return bytes(changed)


def tree(draw: random.Random, sound: Any) -> Any:
    """Nested lists and dictionaries with a few values replaced, removed, repeated, moved or nested."""
    changed = copy.deepcopy(sound)
    for _ in range(draw.choice((1, 1, 2, 5))):
        holder, key = _place(draw, changed)
        if holder is None:
            return copy.deepcopy(draw.choice(VALUES))
        match draw.randrange(6):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, list):
                holder.insert(key, copy.deepcopy(holder[key]))
            case 1:
                holder[draw.choice(WORDS)] = copy.deepcopy(holder[key])
            case 2:
                other, position = _place(draw, changed)
                if other is not None:
                    holder[key] = copy.deepcopy(other[position])
            case 3:
                value = holder[key]
                for _ in range(draw.choice((1, 5, 50, 150))):
                    value = [value]
                holder[key] = value
            case _:
                holder[key] = copy.deepcopy(draw.choice(VALUES))
    return changed


def _place(draw: random.Random, value: Any) -> tuple[Any, Any]:
    """A random list or dictionary inside a value, and one of its keys; None where there is none."""
    holder, key = None, None
    while isinstance(value, dict | list) and value and (holder is None or draw.random() < 0.8):
        holder, key = value, draw.choice(list(value)) if isinstance(value, dict) else draw.randrange(len(value))
        value = holder[key]
    return holder, key
