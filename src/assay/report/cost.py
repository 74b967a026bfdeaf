"""The cost of an attribution: CPU seconds, as measured when it was computed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

from assay.core.records import Record
from assay.report.loaded_run import LoadedRun


@dataclass(frozen=True)
class Cost:
    """CPU seconds per explained sample: the median over blocks of samples."""

    seconds: float
    least: float
    most: float
    blocks: int
    warm: bool  # False: only first blocks were measured, which include the work a process does once
    fit: float | None = None  # CPU seconds of the method's fit, not included above


def costs(loaded: LoadedRun) -> dict[tuple[str, str], Cost]:
    """By environment and method; methods without a computed block are left out."""
    first_times = _first_block_times(loaded)
    blocks: dict[tuple[str, str], list[Record]] = {}
    for environment, method, trial in _computed(loaded):
        blocks.setdefault((environment, method), []).append(trial)
    return {pair: _cost(pair[0], trials, first_times, _fit_seconds(loaded, *pair)) for pair, trials in blocks.items()}


def _computed(loaded: LoadedRun) -> Iterator[tuple[str, str, Record]]:
    for series in loaded.series():
        for block in series["blocks"]:
            trial = loaded.records.get(block["trial"])
            if trial is not None and trial.status == "ok" and "cpu" in trial.cost:
                yield series["environment"], series["method"], trial


def _process_key(trial: Record) -> tuple[Any, ...]:
    return trial.origin.get("host"), trial.origin.get("pid")


def _first_block_times(loaded: LoadedRun) -> dict[tuple[Any, ...], str]:
    """When each process finished its first block in each environment: that block includes building the model."""
    first_times: dict[tuple[Any, ...], str] = {}
    for environment, _, trial in _computed(loaded):
        process = (environment, *_process_key(trial))
        time = str(trial.origin.get("time", ""))
        first_times[process] = min(first_times.get(process, time), time)
    return first_times


def _cost(environment: str, trials: list[Record], first_times: dict[tuple[Any, ...], str], fit: float | None) -> Cost:
    """Times are whole seconds, so all blocks of a process's first second count as its first block."""
    warm = [
        trial for trial in trials if str(trial.origin.get("time", "")) > first_times[environment, *_process_key(trial)]
    ]
    seconds = [_per_sample(trial) for trial in warm or trials]
    return Cost(median(seconds), min(seconds), max(seconds), len(seconds), bool(warm), fit)


def _per_sample(trial: Record) -> float:
    start, stop = trial.data["block"]
    return float(trial.cost["cpu"] / (stop - start))


def _fit_seconds(loaded: LoadedRun, environment: str, method: str) -> float | None:
    """The median over seeds, where the run records the method's fit."""
    keys = [str(series.get("fit") or "") for series in loaded.series(environment, method)]
    fit_costs = [loaded.records[key].cost for key in keys if key in loaded.records]
    seconds = [float(cost["cpu"]) for cost in fit_costs if "cpu" in cost]
    return median(seconds) if seconds else None
