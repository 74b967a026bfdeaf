"""Runs studies, or completes them, and keeps small summaries of their results."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import assay
from assay.engine.execute.processor import processor
from assay.engine.store.listing import list_runs
from assay.engine.store.store import Store
from assay.studies.shipped import find

from pages import ROOT, Json, answer, keep
from verified import rounded, stamp, witness

CELL = ("status", "reason", "value", "low", "high", "deviation", "per_seed", "ceiling", "rank")
POINT = ("at", "status", "reason", "value", "low", "high", "ceiling")
AGREEMENT = ("environment", "truth", "metric", "value", "low", "high", "per_seed", "of_means", "methods", "left_out")
SLOPE = (
    *("environment", "metric", "left", "right", "suffix", "methods", "ranks", "moves", "moves_without_coinciding"),
    *("moves_by_resampling", "correlation", "moves_per_seed", "mean_moves", "coinciding", "left_out", "reason"),
)
BENCH = ("task", "problem", "who", "figure", "ratio", "repeats", "note")


def keep_run(name: str, store: str) -> None:
    """Run a study, or complete it, and keep what pages need of its result."""
    told = answer("run", name, "--store", store)
    folder, study = ROOT / store, find(name)
    opened = Store.open(folder, create=False)
    runs = [run.run for run in list_runs(folder) if run.study in (name, "")]  # no name: it stopped before its end
    summary = {
        "command": f"assay run {name}",
        "commit": _commit(),
        "seconds": round(sum(_seconds(folder / "logs" / f"{run}.jsonl") for run in runs)),
        "cpu_seconds": round(sum(record.cost.get("cpu", 0.0) for record in opened.records())),
        **stamp(study),
    }
    result = shortened(told, comparisons=name.startswith("agop/"))
    keep(name, {**summary, **result, "processor": processor(), "witness": witness(study, folder)})


def keep_serving() -> None:
    keep("serving", [{name: row[name] for name in BENCH} for row in answer("serving", module="benchmarks")], indent=1)


def keep_exact() -> None:
    from experiments.exact import measure  # imports torch

    keep("attributionlab/exact", measure(), indent=1)


def _seconds(log: Path) -> float:
    """How long a run took: its log is named after its beginning and was written last at its end."""
    began = datetime.strptime(log.name.partition("-")[0], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
    return log.stat().st_mtime - began.timestamp()


def _commit() -> str:
    """Of the code that ran."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, cwd=assay.__path__[0], stdout=subprocess.PIPE, check=True, text=True).stdout.strip()


def shortened(told: Json, comparisons: bool) -> Json:
    """Six digits; of a sweep its curves, which hold all that its boards do."""
    if told["sweep"]:
        return {"sweep": _without_keys(rounded(told["sweep"]), rounded(_ceilings(told["boards"])))}
    short = {"boards": [_board(board, comparisons) for board in told["boards"]]}
    if told["agreement"]:
        short["agreement"] = [rounded(_picked(row, AGREEMENT)) for row in told["agreement"]]
    if told["slope"]:
        short["slope"] = [rounded(_picked(row, SLOPE)) for row in told["slope"]]
    if told["common_levels"]:
        short["common_levels"] = rounded(told["common_levels"])
    if told["damage"]:
        short["damage"] = [_damage(table) for table in told["damage"]]
    if told["faithfulness"]:
        short["faithfulness"] = {metric: list(map(_verdict, tests)) for metric, tests in told["faithfulness"].items()}
    return short


def _damage(table: Json) -> Json:
    names = ("metric", "original", "scheme", "minimum", "distances")
    return {"environment": table["environment"], "rows": [rounded(_picked(row, names)) for row in table["rows"]]}


def _board(board: Json, comparisons: bool) -> Json:
    methods = {
        line["method"]: {
            "gap": rounded(line["gap"]),
            "gap_mark": line["gap_mark"],
            "notes": line["notes"],
            "metrics": {metric: rounded(_picked(cell, CELL)) for metric, cell in line["metrics"].items()},
        }
        for line in board["methods"]
    }
    compared = {metric: _comparison(found) for metric, found in board["comparisons"].items()} if comparisons else {}
    return {"environment": board["environment"], "methods": methods, **({"comparisons": compared} if compared else {})}


def _comparison(found: Json) -> Json:
    names = ("left", "right", "difference", "p_holm")
    separated = [rounded(_picked(pair, names)) for pair in found["pairs"] if pair["separated"]]
    return {"groups": found["groups"], "pairs": len(found["pairs"]), "separated": separated}


def _verdict(found: Json) -> Json:
    """The outcome of a test, and in each environment where the value lies."""
    lies = {check["environment"]: check["outcome"] for check in found["checks"]}
    return {**_picked(found, ("method", "gamma", "outcome", "verdict")), "lies": lies}


def _picked(mapping: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: mapping[name] for name in names if mapping.get(name) not in (None, "")}


def _ceilings(boards: Json) -> dict[str, float]:
    """By key: the best score of any map that the method can return, where the metric knows it."""
    cells = (cell for board in boards for line in board["methods"] for cell in line["metrics"].values())
    return {cell["key"]: cell["ceiling"] for cell in cells if cell.get("ceiling") is not None}


def _without_keys(sweep: Json, ceilings: Mapping[str, float]) -> Json:
    """Keys change with the code, values need not."""
    curves = [
        {
            **curve,
            "points": [_picked({**point, "ceiling": ceilings.get(point["key"])}, POINT) for point in curve["points"]],
        }
        for curve in sweep["curves"]
    ]
    return {**sweep, "curves": curves}
