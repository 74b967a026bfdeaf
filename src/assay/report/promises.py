"""What attributions add up to: the gap to what their method promises."""

from __future__ import annotations

from collections import defaultdict

from assay.report.reading import Reading


def promises(reading: Reading) -> dict[tuple[str, str], float]:
    """By environment and method: the sizes of all gaps over the sizes of all promises; absent where nothing is
    promised, or only zeros."""
    found: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for trials in reading.trials():
        for block in trials["blocks"]:
            trial = reading.records.get(block["trial"])
            told = trial.data.get("completeness") if trial is not None and trial.status == "ok" else None
            if told:
                found[trials["environment"], trials["method"]].append((told["gap"], told["promised"]))
    totals = {place: tuple(map(sum, zip(*blocks, strict=True))) for place, blocks in found.items()}
    return {place: gap / promised for place, (gap, promised) in totals.items() if promised > 0}
