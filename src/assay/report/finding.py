"""A finding: one sentence that follows from scores by a rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.core.evidence import Score

WHOLE = ("answer", "damage")  # rules of which every sentence is told
MOST = {"best": 3}  # sentences of a rule that are told first; of others one


@dataclass(frozen=True)
class Finding:
    """One sentence, the rule that wrote it, and the scores it rests on."""

    rule: str  # answer, refuted, not refuted, not testable, undecided, kept, best, left out, missing and others
    text: str
    scores: tuple[Score, ...] = ()

    def to_json(self) -> dict[str, Any]:
        names = ("environment", "method", "metric", "value", "low", "high", "count", "basis", "ceiling")
        return {
            "rule": self.rule,
            "text": self.text,
            "scores": [{name: getattr(score, name) for name in names} for score in self.scores],
        }


def foremost(found: Sequence[Finding]) -> tuple[Finding, ...]:
    """All answers and responses to damage, who is first in three environments, and the first finding of each other
    rule, in their order."""
    by_rule: dict[str, int] = {}
    kept = []
    for finding in found:
        by_rule[finding.rule] = by_rule.get(finding.rule, 0) + 1
        if finding.rule in WHOLE or by_rule[finding.rule] <= MOST.get(finding.rule, 1):
            kept.append(finding)
    return tuple(kept)
