"""Export: the results as tables for other programs.

``results.parquet`` or ``.csv`` is the long table: one row per sample, so that every average can be recomputed. Beside
it lie ``results.scores.parquet``, the leaderboard with intervals, ``results.pairs.parquet``, all pairs of methods with
their tests, ``results.agreement.parquet``, how well metrics rank methods by truth (if the study asks),
``results.slope.parquet``, which methods change rank between two columns (likewise), ``results.damage.parquet``, how
metrics respond to damaged maps (if the study has some), and ``results.curves.parquet``,
the mean curves.
A set-level metric (an accuracy, for example) has no value per sample: its rows in the long table have only ``defined``,
and its score is in the leaderboard. The columns ``sweep_item`` and ``sweep_value`` say what a sweep varies.
``.md`` and ``.tex`` hold the leaderboard, failure curves, agreement, slopes and response to damage.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from assay.core.errors import AssayError, suggest
from assay.core.evidence import Evidence, Score
from assay.core.records import Record, canonical
from assay.engine.store.files import write_atomically
from assay.engine.store.protocol import RunStore
from assay.report.board import Result, result
from assay.report.columns import AGREEMENT, CURVES, DAMAGE, LONG, PAIRS, SCORES, SLOPE
from assay.report.components import by_label
from assay.report.loaded_run import LoadedRun, Series, load_run
from assay.report.result_tables import markdown, tex
from assay.report.sweep import swept
from assay.stats.units import deviation

SET_LEVEL = "set-level metric: its value is in the scores"


def write(store: RunStore, path: Path, run: Record | None = None) -> int:
    """Write the table of a run, by default the latest, in the format of the suffix; returns its number of rows."""
    texts: Mapping[str, Callable[[Result], str]] = {".md": markdown, ".tex": tex}
    suffix = path.suffix.lower()
    if suffix in texts:
        run_result = result(store, run)
        _save(path, texts[suffix](run_result).encode("utf-8", "backslashreplace"))
        return sum(len(board.lines) for board in run_result.boards)
    if suffix not in _WRITERS:
        suffixes = (*_WRITERS, *texts)
        raise AssayError(
            f"cannot export to '{path}': end its name in {', '.join(suffixes)}.{suggest(suffix, suffixes)}"
        )
    loaded, encode = load_run(store, run), _WRITERS[suffix]
    table = _frame(loaded)
    _save(path, encode(table))
    _save(path.with_suffix(f".scores{suffix}"), encode(_table(_score_rows(loaded), SCORES)))
    _save(path.with_suffix(f".pairs{suffix}"), encode(_table(_pair_rows(loaded.result), PAIRS)))
    if loaded.result.agreements:
        rows = _agreement_rows(loaded.result)
        _save(path.with_suffix(f".agreement{suffix}"), encode(_table(rows, AGREEMENT)))
    if loaded.result.slopes:
        _save(path.with_suffix(f".slope{suffix}"), encode(_table(_slope_rows(loaded.result), SLOPE)))
    if loaded.result.damages:
        _save(path.with_suffix(f".damage{suffix}"), encode(_table(_damage_rows(loaded.result), DAMAGE)))
    _save(path.with_suffix(f".curves{suffix}"), encode(_table(_curve_rows(loaded), CURVES)))
    return len(table)


def samples(store: RunStore, run: Record | None = None) -> Any:
    """The long table as a pandas DataFrame: a row per environment, method, metric, seed and sample.

    A block that was skipped or failed is one row with its status and reason, so that nothing is lost.
    """
    return _frame(load_run(store, run))


def scores(store: RunStore, run: Record | None = None) -> Any:
    """The leaderboard as a DataFrame: a row per environment, method and metric, with interval and rank."""
    return _table(_score_rows(load_run(store, run)), SCORES)


def pairs(store: RunStore, run: Record | None = None) -> Any:
    """All pairs of methods as a DataFrame: a row per environment, metric and pair, with its test."""
    return _table(_pair_rows(result(store, run)), PAIRS)


def agreement(store: RunStore, run: Record | None = None) -> Any:
    """Agreement of metrics with truth as a DataFrame: a row per environment and pair of metrics."""
    return _table(_agreement_rows(result(store, run)), AGREEMENT)


def slope(store: RunStore, run: Record | None = None) -> Any:
    """Rankings by two columns as a DataFrame: a row per environment or metric."""
    return _table(_slope_rows(result(store, run)), SLOPE)


def damage(store: RunStore, run: Record | None = None) -> Any:
    """Response of metrics to damaged maps as a DataFrame: a row per environment, metric, damage and distance."""
    return _table(_damage_rows(result(store, run)), DAMAGE)


def curves(store: RunStore, run: Record | None = None) -> Any:
    """The mean curves as a DataFrame: a row per point."""
    return _table(_curve_rows(load_run(store, run)), CURVES)


def _save(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, data, sync=False)


def _csv(table: Any) -> bytes:
    """Text that a spreadsheet would run as a formula begins with an apostrophe."""
    texts = table.select_dtypes("string").columns
    formula = {name: table[name].str.match(r"[=+\-@\t\r]").fillna(False) for name in texts}
    safe = table.assign(**{name: table[name].mask(starts, "'" + table[name]) for name, starts in formula.items()})
    return safe.to_csv(index=False).encode()  # type: ignore[no-any-return]


_WRITERS: Mapping[str, Callable[[Any], bytes]] = {
    ".parquet": lambda table: table.to_parquet(None, index=False),
    ".csv": _csv,
}


def _table(rows: Iterator[dict[str, Any]], columns: Mapping[str, str]) -> Any:
    table = pd.DataFrame.from_records(list(rows), columns=list(columns))
    return table.astype(dict(columns))


def _frame(loaded: LoadedRun) -> Any:
    specs = {
        kind: {label: str(component.spec) for label, component in by_label(loaded.run, kind).items()}
        for kind in ("environments", "methods", "metrics")
    }
    questions = {label: canonical(component.question) for label, component in by_label(loaded.run, "methods").items()}
    return _table(_long_rows(loaded, specs, questions), LONG)


def _long_rows(
    loaded: LoadedRun, specs: Mapping[str, Mapping[str, str]], questions: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    for series in loaded.series():
        common = {
            "study": loaded.study.name,
            **{name: series[name] for name in ("environment", "method", "seed")},
            "environment_spec": specs["environments"][series["environment"]],
            "method_spec": specs["methods"][series["method"]],
            "method_question": questions[series["method"]],
        }
        for metric in (label for label in specs["metrics"] if label in series["evidence"]):
            names = {**common, "metric": metric, "metric_spec": specs["metrics"][metric]}
            names |= swept(loaded.study, names)
            yield from ({**names, **row} for row in _metric_rows(loaded, series, metric))


def _metric_rows(loaded: LoadedRun, series: Series, metric: str) -> Iterator[dict[str, Any]]:
    for (start, record), key in zip(loaded.outcomes(series, metric), series["evidence"][metric], strict=True):
        block = {"block": start, "key": key}
        if record is None:
            yield {**block, "status": "failed", "reason": "was not computed: run the study again"}
        elif record.status != "ok":
            yield {**block, "status": record.status, "reason": record.reason}
        elif record.key != key:  # the trial is in the store, its evidence is not
            yield {**block, "status": "failed", "reason": "was not judged: run the study again"}
        else:
            evidence = Evidence.from_arrays(loaded.store.load(record))
            yield from ({**block, **row} for row in _sample_rows(evidence, start, series["samples"]))


def _sample_rows(evidence: Evidence, start: int, stop: int) -> Iterator[dict[str, Any]]:
    """Undefined values become empty; evidence stores them as 0."""
    values = evidence.rows.get("value")
    for index, defined in enumerate(evidence.defined[: max(0, stop - start)]):
        value = float(values[index]) if values is not None and defined else None  # type: ignore[arg-type]
        reason = "" if values is not None else SET_LEVEL
        yield {"sample": start + index, "value": value, "defined": bool(defined), "status": "ok", "reason": reason}


def score_samples(scores: Iterable[Score]) -> Any:
    """The samples of scores in memory as a DataFrame, with those columns of the long table that they have."""
    rows: list[dict[str, Any]] = []
    for score in scores:
        names = {"method": score.method, "metric": score.metric}
        if score.evidence is None:
            rows.append({**names, "status": score.status, "reason": score.reason})
        else:
            rows += ({**names, **row} for row in _sample_rows(score.evidence, 0, len(score.evidence)))
    columns = ("method", "metric", "sample", "value", "defined", "status", "reason")
    return _table(iter(rows), {name: LONG[name] for name in columns})


def _score_rows(loaded: LoadedRun) -> Iterator[dict[str, Any]]:
    for board in loaded.result.boards:
        for line in board.lines:
            remarks = {"gap": line.remarks.gap, "gap_mark": line.remarks.mark, "notes": "; ".join(line.remarks.notes)}
            for metric, score in line.cells.items():
                names = {"environment": board.environment, "method": line.method, "metric": metric}
                other = {
                    "study": loaded.study.name,
                    "per_seed": json.dumps(score.per_seed),
                    "deviation": deviation(score.per_seed),
                    "letters": board.letters(metric).get(line.method, ""),
                }
                yield {**vars(score), **other, **remarks, **swept(loaded.study, names)}


def _pair_rows(run_result: Result) -> Iterator[dict[str, Any]]:
    for board in run_result.boards:
        for metric, comparison in board.comparisons.items():
            names = {"study": run_result.study.name, "environment": board.environment, "metric": metric}
            for pair in comparison.pairs:
                yield {**names, "unit": comparison.unit, **pair.__dict__, "separated": pair.separated}


def _agreement_rows(run_result: Result) -> Iterator[dict[str, Any]]:
    for row in (row for table in run_result.agreements for row in table.rows):
        values = row.to_json()
        texts = {name: json.dumps(values[name]) for name in ("per_seed", "methods", "left_out")}
        yield {"study": run_result.study.name, **values, **texts}


def _slope_rows(run_result: Result) -> Iterator[dict[str, Any]]:
    for values in (row.to_json() for table in run_result.slopes for row in table.rows):
        drawn = {f"resampling_{name}": value for name, value in values.pop("moves_by_resampling").items()}
        texts = ("methods", "moves_per_seed", "ranks", "coinciding", "left_out")
        yield {
            "study": run_result.study.name,
            **values,
            **drawn,
            **{name: json.dumps(values[name]) for name in texts},
        }


def _damage_rows(run_result: Result) -> Iterator[dict[str, Any]]:
    for values in (row.to_json() for table in run_result.damages for row in table.rows):
        of_means = {"minimum": values.pop("minimum_of_means")}
        for of, mean in {**values.pop("distances"), "minimum": values.pop("minimum")}.items():
            texts = {"per_seed": json.dumps(mean["per_seed"]), "of": of, "of_means": of_means.get(of)}
            yield {"study": run_result.study.name, **values, **mean, **texts}


def _curve_rows(loaded: LoadedRun) -> Iterator[dict[str, Any]]:
    metrics = by_label(loaded.run, "metrics")
    for row in loaded.run.data["rows"]:
        names = {name: row[name] for name in ("environment", "method", "metric")}
        curve = loaded.curve(row)
        if curve is not None:
            x_axis, y_axis = metrics[row["metric"]].axes
            common = {"study": loaded.study.name, **names, "x_axis": x_axis, "y_axis": y_axis}
            for point, (x, y) in enumerate(zip(*curve, strict=True)):
                yield {**common, "point": point, "x": float(x), "y": float(y)}
