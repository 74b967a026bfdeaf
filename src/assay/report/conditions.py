"""With what the records of a run were made, where that is not the same for all (docs/determinism.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from assay.core.records import Record
from assay.report.text import counted, listed, size

CONDITIONS = ("device", "memory", "threads")  # change the last digits under one key; the number format has its own keys


def mixed_conditions(records: Iterable[Record]) -> str:
    """A sentence about records that were made with different options; empty where all were made alike."""
    origins = [record.origin for record in records if record.status == "ok" and record.kind != "score"]
    mixtures = []
    for name in CONDITIONS:
        counts = Counter(origin[name] for origin in origins if name in origin)
        if len(counts) > 1:
            values = sorted(counts.items(), key=lambda pair: (-pair[1], str(pair[0])))
            texts = [f"{size(value) if name == 'memory' else value} ({counted(n, 'record')})" for value, n in values]
            mixtures.append(f"--{name} {listed(texts)}")
    if not mixtures:
        return ""
    return f"Made with different options: {'; '.join(mixtures)}. Last digits may differ: docs/determinism.md."
