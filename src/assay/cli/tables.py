"""Print boards and verdicts on a terminal."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from rich.console import Console
from rich.markup import escape

from assay.core.evidence import Score
from assay.report.board import Board, Result
from assay.report.brief import brief
from assay.report.controls import unbeaten_controls
from assay.report.damages import DamageTable
from assay.report.missing import grouped_by_reason
from assay.report.result_tables import board_table, compared, damage_table, sweep_table
from assay.report.sweep import run_sweep
from assay.report.terminal import print_compact, print_table
from assay.stats.comparison import Comparison
from assay.stats.units import deviation

_FIELDS = (  # of a score in JSON
    *("status", "value", "low", "high", "count", "defined", "rank", "reason", "key", "ceiling", "per_seed", "basis"),
    *("explains", "reads"),
)
PIPE = 200  # characters of a line in a file or a pipe
_POINT = ("status", "value", "low", "high", "reason", "key")  # of a sweep


def print_result(result: Result, full: bool = False, console: Console | None = None) -> None:
    """What follows, in sentences, and one compact table; with ``full`` all tables."""
    console = console or _console()
    first = brief(result)
    for finding in result.findings if full else first.findings:
        console.print(escape(finding.text), highlight=False, soft_wrap=console.width >= PIPE)
    console.print()
    if full:
        _print_all(result, console)
        return
    if first.table is not None:
        print_compact(first.table, console)
    if result.mixed:
        console.print(f"[yellow]{escape(result.mixed)}[/yellow]", highlight=False)
    console.print()
    if first.rest:
        console.print(f"[dim]{escape(first.rest)} Print all of it: --full.[/dim]", highlight=False)


def _print_all(result: Result, console: Console) -> None:
    for answer in result.answers.values():
        for sentence in answer.ground():
            console.print(escape(sentence), highlight=False, soft_wrap=True)
        console.print()
        print_table(answer.table(), console)
        if result.answers_cover_boards:
            _print_remarks(next(board for board in result.boards if board.environment == answer.environment), console)
        console.print()
    for board in result.boards if not result.answers_cover_boards else ():
        if board.metrics:
            print_table(board_table(result, board), console)
            _print_remarks(board, console)
            for unbeaten in unbeaten_controls(result.run, board) if board.environment not in result.answers else ():
                console.print(f" [yellow]{escape(str(unbeaten))}[/yellow]", highlight=False)
        else:
            console.print(f"[bold]{escape(board.environment)}[/bold]: no metric of this study is meant for it.")
        console.print()
    if result.has_sweep:
        sweep = run_sweep(result)
        for swept in sweep.tables:
            print_table(sweep_table(sweep, swept, intervals=False), console)
            console.print()
    for (metric, gamma), verdicts in result.verdicts.items():
        console.print(f"[bold]Faithfulness test[/bold] on {escape(metric)} at gamma = {gamma:g}")
        for verdict in verdicts:
            ceiling = "" if verdict.ceiling is None else f" [dim](ceiling {verdict.ceiling:.3f})[/dim]"
            console.print(f"  {escape(verdict.method)}: {escape(verdict.brief())}{ceiling}", highlight=False)
        if any(verdict.by_value for verdict in verdicts):
            console.print("  [dim]Where no interval over three draws or more is given, the value alone decides.[/dim]")
        console.print()
    for table in compared(result):
        print_table(table, console)
        console.print()
    for damages in result.damages:
        print_table(replace(damage_table(damages), notes=tuple(damages.notes())), console)
        console.print()
    if result.mixed:
        console.print(f"[yellow]{escape(result.mixed)}[/yellow]", highlight=False)
    if result.failed() or result.skipped():
        _print_trouble(result, console)


def _print_remarks(board: Board, console: Console) -> None:
    for line in (line for line in board.lines if str(line.remarks)):
        console.print(f" {escape(line.method)}: {escape(str(line.remarks))}", highlight=False)


def _console() -> Console:
    """A console as wide as the terminal; a file or a pipe has no width, and sentences are not broken there."""
    console = Console()
    return console if console.is_terminal else Console(width=PIPE)


def _print_trouble(result: Result, console: Console) -> None:
    for group in grouped_by_reason(result.scores()):
        style = "red" if group.status == "failed" else "dim"
        console.print(f"[{style}]{group.status}[/]: {escape(str(group))}", highlight=False)


def to_json(result: Result) -> dict[str, Any]:
    """The result for machines."""
    return {
        "study": result.study.name,
        "scale": result.study.scale,
        "findings": [finding.to_json() for finding in result.findings],
        "boards": [
            {
                "environment": board.environment,
                "comparisons": {metric: _comparison_json(found) for metric, found in board.comparisons.items()},
                "methods": [
                    {
                        "method": line.method,
                        "mean_rank": line.mean_rank,
                        "gap": line.remarks.gap,
                        "gap_mark": line.remarks.mark,
                        "notes": list(line.remarks.notes),
                        "metrics": {metric: _score_json(score) for metric, score in line.cells.items()},
                    }
                    for line in board.lines
                ],
            }
            for board in result.boards
        ],
        "answers": {environment: answer.to_json() for environment, answer in result.answers.items()},
        "sweep": _sweep_json(result) if result.has_sweep else None,
        "faithfulness": {metric: _verdicts_json(result, metric) for metric, _ in result.verdicts},
        "common_levels": [common.to_json() for common in result.common_levels],
        "agreement": [row.to_json() for table in result.agreements for row in table.rows],
        "slope": [row.to_json() for table in result.slopes for row in table.rows],
        "damage": [_damage_json(table) for table in result.damages],
        "failed": len(result.failed()),
        "skipped": len(result.skipped()),
        "mixed": result.mixed,
    }


def _score_json(score: Score) -> dict[str, Any]:
    return {**{name: getattr(score, name) for name in _FIELDS}, "deviation": deviation(score.per_seed)}


def _sweep_json(result: Result) -> dict[str, Any]:
    """The sweep for machines."""
    sweep = run_sweep(result)
    curves = [
        {
            "environment": table.environment,
            "metric": table.metric,
            "method": line.label,
            "varied": not line.level,
            "points": [
                {"at": value, **{name: getattr(cell, name) for name in _POINT}}
                for value, cell in zip(sweep.values, line.cells, strict=True)
            ],
        }
        for table in sweep.tables
        for line in table.lines
    ]
    values = list(sweep.values)
    return {"of": sweep.of, "parameter": sweep.parameter, "label": sweep.label, "values": values, "curves": curves}


def _damage_json(table: DamageTable) -> dict[str, Any]:
    sentences, rows = list(table.sentences()), [row.to_json() for row in table.rows]
    return {"environment": table.environment, "sentences": sentences, "rows": rows}


def _comparison_json(comparison: Comparison) -> dict[str, Any]:
    return {
        **asdict(comparison),
        "units_needed": comparison.units_needed,
        "pairs": [{**asdict(pair), "separated": pair.separated} for pair in comparison.pairs],
    }


def _verdicts_json(result: Result, metric: str) -> list[dict[str, Any]]:
    return [
        {
            "method": verdict.method,
            "gamma": gamma,
            "outcome": verdict.outcome,
            "ceiling": verdict.ceiling,
            "refuted_by": list(verdict.refuted_by),
            "checks": [
                {
                    "environment": measured.environment,
                    **vars(measured.check),
                    "value": measured.value,
                    "ceiling": measured.ceiling,
                    "grid": measured.grid,
                    "outcome": measured.outcome,
                    "draws_below": list(measured.draws_below),
                }
                for measured in verdict.measured
            ],
            "by_value": verdict.by_value,
            "verdict": str(verdict),
        }
        for (tested_metric, gamma), verdicts in result.verdicts.items()
        if tested_metric == metric
        for verdict in verdicts
    ]
