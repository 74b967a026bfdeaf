"""The first screen of a result: findings, one compact table, and where the rest is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from assay.report.board import Board, Result, arrow
from assay.report.components import by_label
from assay.report.finding import Finding, foremost
from assay.report.result_tables import sweep_table
from assay.report.sweep import run_sweep
from assay.report.table import Cell, Row, Table
from assay.report.text import counted, listed

COLUMNS = 3  # metrics that the compact table shows at most
ROWS = 14  # methods that it shows at most


@dataclass(frozen=True)
class Brief:
    """What a reader sees first."""

    findings: tuple[Finding, ...]
    table: Table | None  # None: no board has a metric
    rest: str  # what is not shown, in words; empty: nothing


def brief(result: Result) -> Brief:
    """The findings of most weight, and the board that they speak of first."""
    shown = foremost(result.findings)
    answers = list(result.answers.values())
    if answers:
        return Brief(shown, answers[0].table(), _rest(result, shown, None))
    if result.has_sweep:
        sweep = run_sweep(result)
        tables = [replace(sweep_table(sweep, table, intervals=False), notes=()) for table in sweep.tables]
        more = counted(len(tables) - 1, "more table") if len(tables) > 1 else ""
        return Brief(shown, tables[0] if tables else None, f"Not shown: {more}." if more else "")
    board = next((board for board in result.boards if board.metrics), None)
    if board is None:
        return Brief(shown, None, "")
    return Brief(shown, _compact(result, board), _rest(result, shown, board))


def _compact(result: Result, board: Board) -> Table:
    """Method, verdict, and the columns that findings speak of: the first metric before all."""
    metrics = _telling(result, board)
    outcomes = {verdict.method: verdict.outcome for verdicts in result.verdicts.values() for verdict in verdicts}
    controls = {name for name, part in by_label(result.run, "methods").items() if part.control}
    rows: list[Row] = []
    for line in board.lines[:ROWS]:
        name = Cell(line.method, "control" if line.method in controls else "")
        verdict = [outcomes.get(line.method, "")] if outcomes else []
        cells = (line.cells[metric] for metric in metrics)
        scores = (
            Cell(cell, "best" if board.is_best(metric, cell) else "")
            for metric, cell in zip(metrics, cells, strict=True)
        )
        rows.append((name, *verdict, *scores))
    text = 2 if outcomes else 1
    heads = [f"{metric} {arrow(result.run, metric)}".strip() for metric in metrics]
    columns = ("method", *(["verdict"] if outcomes else []), *heads)
    return Table(columns, tuple(rows), board.environment, text=text, kept=text)


def _telling(result: Result, board: Board) -> Sequence[str]:
    """The study's first metric, those of which findings say that they contradict the truth, then the others."""
    named = [
        score.metric
        for finding in result.findings
        if finding.rule in ("reversed", "kept")
        for score in finding.scores
        if score.environment == board.environment
    ]
    ordered = dict.fromkeys([board.metrics[0], *named, *board.metrics])
    return [name for name in ordered if name in board.metrics][:COLUMNS]


def _rest(result: Result, shown: Sequence[Finding], board: Board | None) -> str:
    parts = list(_left_out(result, shown, board))
    return f"Not shown: {listed(parts)}." if parts else ""


def _left_out(result: Result, shown: Sequence[Finding], board: Board | None) -> Iterator[str]:
    if more := len(result.findings) - len(shown):
        yield counted(more, "more finding")
    if board is not None:
        if columns := len(board.metrics) - min(COLUMNS, len(board.metrics)):
            yield counted(columns, "more metric")
        if (lines := len(board.lines) - ROWS) > 0:
            yield counted(lines, "more method")
    if (boards := len(result.boards) - 1) > 0:
        yield counted(boards, "more environment")
    tables = len(result.agreements) + len(result.slopes) + len(result.damages)
    if tables:
        yield counted(tables, "comparison")
