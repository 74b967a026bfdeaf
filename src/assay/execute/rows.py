"""The lines of a study's result."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One line of a study's result: labels, and the key of the score."""

    environment: str
    method: str
    metric: str
    key: str

    def to_json(self) -> dict[str, str]:
        return {"environment": self.environment, "method": self.method, "metric": self.metric, "key": self.key}
