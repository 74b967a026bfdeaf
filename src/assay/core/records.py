"""Records: how one artifact ended, as plain data.

A record holds the status of an artifact (ok, skipped with a reason, failed with a traceback), the content digest of its
arrays, its cost and its origin. Two records are the same result when their ``result`` is equal; cost and origin never
count.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

Status = Literal["ok", "skipped", "failed"]
Kind = Literal["model", "fit", "samples", "probe", "prepared", "trial", "evidence", "score", "run"]


_json = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False)


def canonical(value: object) -> str:
    """The canonical JSON text of a value: sorted keys, no spaces, no NaN."""
    return _json.encode(value)


def digest(value: object) -> str:
    """sha256 of the canonical JSON of a value, in hexadecimal."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


_HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")  # categories of Unicode that move the cursor, reorder text or are no text
_HARMLESS = "\n\t\u200c\u200d"  # the last two join and separate letters, in Persian for example


def printable(text: str, limit: int) -> str:
    """A text of a user or of foreign code that can be stored and shown: control characters and what is not Unicode are
    escaped, and of a long text the middle is left out."""
    if len(text) > limit:
        half = limit // 2
        text = f"{text[:half]} [... {len(text) - 2 * half} characters ...] {text[-half:]}"
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(letter: str) -> str:
    return letter if unicodedata.category(letter) not in _HIDDEN or letter in _HARMLESS else ascii(letter)[1:-1]


@dataclass(frozen=True)
class Record:
    """How one artifact ended."""

    kind: Kind
    key: str
    status: Status
    reason: str = ""  # a sentence, for skipped and failed
    traceback: str = ""  # for failed
    arrays: str = ""  # content digest of the arrays, empty when there are none
    data: Mapping[str, Any] = field(default_factory=dict)  # small and deterministic: specs, values, counts
    cost: Mapping[str, float] = field(default_factory=dict)  # measured when computed; not part of the result
    origin: Mapping[str, Any] = field(default_factory=dict)  # time, host, versions; not part of the result

    @property
    def result(self) -> dict[str, Any]:
        """What must be equal in two computations of an artifact; not the traceback, which has paths of a machine."""
        return {
            "kind": self.kind,
            "key": self.key,
            "status": self.status,
            "reason": self.reason,
            "arrays": self.arrays,
            "data": dict(self.data),
        }

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Record:
        """TypeError where a field is of another type: somebody else may have written it."""
        record = cls(**{name: value for name, value in data.items() if name in _FIELDS})
        texts = (record.kind, record.key, record.arrays, record.reason, record.traceback)
        mappings = (record.data, record.cost, record.origin)
        types_fit = all(isinstance(text, str) for text in texts) and all(isinstance(item, Mapping) for item in mappings)
        if not (types_fit and record.status in get_args(Status) and record.kind.isascii() and record.arrays.isascii()):
            raise TypeError("this is no record")
        return record


_FIELDS = frozenset(field.name for field in fields(Record))  # fields of later versions are ignored
