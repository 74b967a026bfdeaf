"""Records: what is known about one artifact, as plain data.

A record says how an artifact ended (ok, skipped with a reason, failed with a traceback), where its arrays are
(by content digest) and, apart from that, what it cost and where it was made. Two records are the same result when
their ``result`` is equal; cost and origin never count.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

Status = Literal["ok", "skipped", "failed"]
Kind = Literal["model", "fit", "samples", "probe", "prepared", "trial", "evidence", "score", "run"]


def canonical(value: object) -> str:
    """The one JSON text of a value: sorted keys, no spaces, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False)


def digest(value: object) -> str:
    """sha256 of the canonical JSON of a value, in hexadecimal."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


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
        """What must be equal between two runs of the same thing. Not the traceback: it names paths of a machine."""
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
        return cls(**{name: value for name, value in data.items() if name in _FIELDS})


_FIELDS = frozenset(field.name for field in fields(Record))  # those of later versions are ignored
