"""Print the sweep of a run: methods x values, one table for each metric and environment."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from assay.core.evidence import Score
from assay.report.board import Result
from assay.report.sweep import RunSweep, SweepTable, run_sweep
from assay.report.text import number

_FIELDS = ("status", "value", "low", "high", "reason", "key")


def print_sweep(result: Result, console: Console) -> None:
    """Values without intervals, which the boards have. A missing score is a gap with its reason below the table."""
    sweep = run_sweep(result)
    for table in sweep.tables:
        console.print(_table(sweep, table))
        for sentence in table.gaps(sweep.texts):
            console.print(f" [dim]{escape(sentence)}[/dim]", highlight=False)
        console.print()


def _table(sweep: RunSweep, table: SweepTable) -> Table:
    title = f"[bold]{escape(table.metric)}[/bold] over {escape(sweep.label)}: {escape(table.environment)}"
    drawn = Table(title=title, title_justify="left", box=None, padding=(0, 1))
    drawn.add_column(escape(sweep.parameter), overflow="fold")
    for text in sweep.texts:
        drawn.add_column(escape(text), justify="right", overflow="fold")
    for line in table.lines:
        cells = [_text(cell) for cell in (line.cells[:1] if line.level else line.cells)]
        drawn.add_row(escape(line.label), *cells, style="dim" if line.level else "")
    return drawn


def _text(cell: Score) -> str:
    return "–" if cell.value is None else number(cell.value)


def sweep_json(result: Result) -> dict[str, Any]:
    """The sweep for machines."""
    sweep = run_sweep(result)
    curves = [
        {
            "environment": table.environment,
            "metric": table.metric,
            "method": line.label,
            "varied": not line.level,
            "points": [
                {"at": value, **{name: getattr(cell, name) for name in _FIELDS}}
                for value, cell in zip(sweep.values, line.cells, strict=True)
            ],
        }
        for table in sweep.tables
        for line in table.lines
    ]
    values = list(sweep.values)
    return {"of": sweep.of, "parameter": sweep.parameter, "label": sweep.label, "values": values, "curves": curves}
