"""The results as tables for other programs.

``results.parquet`` or ``.csv`` is the long table: one row per sample, so that every average can be made again. Beside
it lie ``results.scores.parquet``, the leaderboard with intervals, and ``results.curves.parquet``, the mean curves.
A set-level metric (an accuracy, say) has no value per sample: its rows in the long table have none, only ``defined``;
its score is in the leaderboard. ``.md`` and ``.tex`` hold the leaderboard alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from assay.core.errors import AssayError, suggest
from assay.core.evidence import Evidence
from assay.core.records import Record, canonical
from assay.report.board import Result, result
from assay.report.components import by_label
from assay.report.printed import markdown, tex
from assay.report.reading import Reading, Trials, read
from assay.store.store import Store

LONG: Mapping[str, str] = {
    "study": "string",
    "environment": "string",
    "method": "string",
    "metric": "string",
    "seed": "Int64",
    "sample": "Int64",  # empty where a whole block has no evidence
    "block": "Int64",  # the first sample of the block
    "value": "Float64",  # empty where undefined, skipped, failed, and for set-level metrics
    "defined": "boolean",
    "status": "string",  # ok, skipped, failed
    "reason": "string",
    "key": "string",  # of the evidence
    "environment_spec": "string",
    "method_spec": "string",
    "method_question": "string",  # JSON of what the study asks otherwise than the environment
    "metric_spec": "string",
}
SCORES: Mapping[str, str] = {
    "study": "string",
    "environment": "string",
    "method": "string",
    "metric": "string",
    "value": "Float64",
    "low": "Float64",
    "high": "Float64",
    "basis": "string",  # of the interval: seeds, samples or draw; why there is none: two or equal
    "per_seed": "string",  # JSON: the value of each seed, null where it is undefined
    "rank": "Float64",
    "count": "Int64",
    "defined": "Int64",
    "ceiling": "Float64",  # the best that the samples allow, where the metric knows it
    "gap": "Float64",  # to what the method promises its attribution to add up to, as a share; empty: no promise
    "gap_mark": "string",  # what a gap above a tenth means
    "notes": "string",  # what the method said about its answers
    "explains": "string",  # the number that the method explained, where the metric read another one
    "reads": "string",  # that other one
    "status": "string",
    "reason": "string",
    "key": "string",  # of the score
}
CURVES: Mapping[str, str] = {
    "study": "string",
    "environment": "string",
    "method": "string",
    "metric": "string",
    "point": "Int64",  # along the curve: x need not rise
    "x": "Float64",
    "y": "Float64",
    "x_axis": "string",  # what is drawn, as the metric's card says
    "y_axis": "string",
}
SET = "judged as a set: the scores have its value"


def write(store: Store, path: Path, run: Record | None = None) -> int:
    """Write the table that the suffix asks for, of the latest run unless one is given; how many rows it has."""
    texts: Mapping[str, Callable[[Result], str]] = {".md": markdown, ".tex": tex}
    suffix = path.suffix.lower()
    if suffix in texts:
        found = result(store, run)
        _prepared(path).write_text(texts[suffix](found), encoding="utf-8")
        return sum(len(board.lines) for board in found.boards)
    if suffix not in _WRITERS:
        known = (*_WRITERS, *texts)
        raise AssayError(f"cannot export to '{path}': end its name in {', '.join(known)}.{suggest(suffix, known)}")
    reading, save = read(store, run), _WRITERS[suffix]
    table = _frame(reading)
    save(table, _prepared(path))
    save(_table(_score_rows(reading), SCORES), path.with_suffix(f".scores{suffix}"))
    save(_table(_curve_rows(reading), CURVES), path.with_suffix(f".curves{suffix}"))
    return len(table)


def frame(store: Store, run: Record | None = None) -> Any:
    """The long table as a pandas DataFrame: a row per environment, method, metric, seed and sample.

    A block that was skipped or failed is one row with its status and reason, so that nothing disappears.
    """
    return _frame(read(store, run))


def scores(store: Store, run: Record | None = None) -> Any:
    """The leaderboard as a DataFrame: a row per environment, method and metric, with interval and rank."""
    return _table(_score_rows(read(store, run)), SCORES)


def curves(store: Store, run: Record | None = None) -> Any:
    """The mean curves as a DataFrame: a row per point."""
    return _table(_curve_rows(read(store, run)), CURVES)


def _prepared(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


_WRITERS: Mapping[str, Callable[[Any, Path], None]] = {
    ".parquet": lambda table, path: table.to_parquet(path, index=False),
    ".csv": lambda table, path: table.to_csv(path, index=False),
}


def _table(rows: Iterator[dict[str, Any]], columns: Mapping[str, str]) -> Any:
    found = pd.DataFrame.from_records(list(rows), columns=list(columns))
    return found.astype(dict(columns))


def _frame(reading: Reading) -> Any:
    specs = {
        kind: {label: str(found.spec) for label, found in by_label(reading.run, kind).items()}
        for kind in ("environments", "methods", "metrics")
    }
    questions = {label: canonical(found.question) for label, found in by_label(reading.run, "methods").items()}
    return _table(_long_rows(reading, specs, questions), LONG)


def _long_rows(
    reading: Reading, specs: Mapping[str, Mapping[str, str]], questions: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    for trials in reading.trials():
        common = {
            "study": reading.study["name"],
            **{name: trials[name] for name in ("environment", "method", "seed")},
            "environment_spec": specs["environments"][trials["environment"]],
            "method_spec": specs["methods"][trials["method"]],
            "method_question": questions[trials["method"]],
        }
        for metric in (label for label in specs["metrics"] if label in trials["evidence"]):
            named = {**common, "metric": metric, "metric_spec": specs["metrics"][metric]}
            yield from ({**named, **row} for row in _cell_rows(reading, trials, metric))


def _cell_rows(reading: Reading, trials: Trials, metric: str) -> Iterator[dict[str, Any]]:
    for (start, record), key in zip(reading.outcomes(trials, metric), trials["evidence"][metric], strict=True):
        block = {"block": start, "key": key}
        if record is None:
            yield {**block, "status": "failed", "reason": "was not computed: run the study again"}
        elif record.status != "ok":
            yield {**block, "status": record.status, "reason": record.reason}
        elif record.key != key:  # the trial is there and its evidence is not
            yield {**block, "status": "failed", "reason": "was not judged: run the study again"}
        else:
            evidence = Evidence.from_arrays(reading.store.load(record))
            yield from ({**block, **row} for row in _sample_rows(evidence, start, trials["samples"]))


def _sample_rows(evidence: Evidence, start: int, stop: int) -> Iterator[dict[str, Any]]:
    """A value that is not defined stays empty: it is stored as 0 and is no 0."""
    values = evidence.rows.get("value")
    for index, defined in enumerate(evidence.defined[: max(0, stop - start)]):
        value = float(values[index]) if values is not None and defined else None  # type: ignore[arg-type]
        reason = "" if values is not None else SET
        yield {"sample": start + index, "value": value, "defined": bool(defined), "status": "ok", "reason": reason}


def _score_rows(reading: Reading) -> Iterator[dict[str, Any]]:
    for board, line, metric, cell in reading.result.cells():
        names = {"environment": board.environment, "method": line.method, "metric": metric}
        said = {"gap": line.said.gap, "gap_mark": line.said.mark, "notes": "; ".join(line.said.notes)}
        per_seed = json.dumps(cell.per_seed)
        yield {"study": reading.study["name"], **names, **cell.__dict__, "per_seed": per_seed, **said}


def _curve_rows(reading: Reading) -> Iterator[dict[str, Any]]:
    metrics = by_label(reading.run, "metrics")
    for row in reading.run.data["rows"]:
        names = {name: row[name] for name in ("environment", "method", "metric")}
        curve = reading.curve(row)
        if curve is not None:
            x_axis, y_axis = metrics[row["metric"]].axes
            common = {"study": reading.study["name"], **names, "x_axis": x_axis, "y_axis": y_axis}
            for point, (x, y) in enumerate(zip(*curve, strict=True)):
                yield {**common, "point": point, "x": float(x), "y": float(y)}
