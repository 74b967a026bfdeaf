"""What an explanation costs: CPU seconds, as measured when the attribution was computed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

from assay.core.records import Record
from assay.report.reading import Reading


@dataclass(frozen=True)
class Cost:
    """CPU seconds per explanation: the median over blocks of samples."""

    seconds: float
    least: float
    most: float
    blocks: int
    warm: bool  # False: only first blocks were measured, and these include what a process does once
    fit: float | None = None  # CPU seconds of the method's fit, apart


def costs(reading: Reading) -> dict[tuple[str, str], Cost]:
    """By environment and method; methods without a single computed block are left out."""
    starts = _starts(reading)
    blocks: dict[tuple[str, str], list[Record]] = {}
    for environment, method, trial in _computed(reading):
        blocks.setdefault((environment, method), []).append(trial)
    return {place: _cost(place[0], found, starts, _fit(reading, *place)) for place, found in blocks.items()}


def _computed(reading: Reading) -> Iterator[tuple[str, str, Record]]:
    for trials in reading.trials():
        for block in trials["blocks"]:
            trial = reading.records.get(block["trial"])
            if trial is not None and trial.status == "ok" and "cpu" in trial.cost:
                yield trials["environment"], trials["method"], trial


def _process(trial: Record) -> tuple[Any, ...]:
    return trial.origin.get("host"), trial.origin.get("pid")


def _starts(reading: Reading) -> dict[tuple[Any, ...], str]:
    """When each process finished its first block in each environment: that block also built the model."""
    starts: dict[tuple[Any, ...], str] = {}
    for environment, _, trial in _computed(reading):
        place = (environment, *_process(trial))
        time = str(trial.origin.get("time", ""))
        starts[place] = min(starts.get(place, time), time)
    return starts


def _cost(environment: str, trials: list[Record], starts: dict[tuple[Any, ...], str], fit: float | None) -> Cost:
    """Times are whole seconds, so everything out of a process's first second counts as its first block."""
    warm = [trial for trial in trials if str(trial.origin.get("time", "")) > starts[environment, *_process(trial)]]
    each = [_per_sample(trial) for trial in warm or trials]
    return Cost(median(each), min(each), max(each), len(each), bool(warm), fit)


def _per_sample(trial: Record) -> float:
    start, stop = trial.data["block"]
    return float(trial.cost["cpu"] / (stop - start))


def _fit(reading: Reading, environment: str, method: str) -> float | None:
    """The median over seeds, where the run says which fit belongs to the method."""
    keys = [str(trials.get("fit") or "") for trials in reading.trials(environment, method)]
    costs = [reading.records[key].cost for key in keys if key in reading.records]
    found = [float(cost["cpu"]) for cost in costs if "cpu" in cost]
    return median(found) if found else None
