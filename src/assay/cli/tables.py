"""Print boards and verdicts on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from assay.cli.sweep_tables import print_sweep, sweep_json
from assay.core.evidence import Score
from assay.report.agreements import AgreementTable
from assay.report.board import Board, Line, Result, arrow
from assay.report.controls import unbeaten_controls
from assay.report.missing import grouped_by_reason
from assay.report.text import Markup, percent, score_text
from assay.stats.comparison import Comparison
from assay.stats.units import deviation

_FIELDS = (  # of a score in JSON
    *("status", "value", "low", "high", "count", "defined", "rank", "reason", "key", "ceiling", "per_seed", "basis"),
    *("explains", "reads"),
)
HEAD = 14  # characters of a heading that stay on one line
RICH = Markup(
    value=lambda text: f"[not bold]{text}[/]",
    best=lambda text: f"[bold]{text}[/]",
    interval=lambda text: f"[dim]{escape(text)}[/dim]",
    count=lambda text: f"[yellow]{text}[/yellow]",
    missing=lambda text: f"[dim]{text}[/dim]",
    short=True,
)


def print_result(result: Result, console: Console | None = None) -> None:
    console = console or _console()
    for board in result.boards:
        if board.metrics:
            for table in _tables(result, board, console.width):
                console.print(table)
            _print_remarks(board, console)
            for metric, value in board.ceilings().items():
                ceiling_note = f"the truth has ties, so a map without ties reaches at most {value:.3f}"
                console.print(f" [dim]{escape(metric)}: {ceiling_note}[/dim]", highlight=False)
            for note in board.notes():
                console.print(f" [dim]{escape(note)}[/dim]", highlight=False)
            for unbeaten in unbeaten_controls(result.run, board):
                console.print(f" [yellow]{escape(str(unbeaten))}[/yellow]", highlight=False)
        else:
            console.print(f"[bold]{escape(board.environment)}[/bold]: no metric of this study is meant for it.")
        console.print()
    if result.has_sweep:
        print_sweep(result, console)
    for (metric, gamma), verdicts in result.verdicts.items():
        console.print(f"[bold]Faithfulness test[/bold] on {escape(metric)} at gamma = {gamma:g}")
        for verdict in verdicts:
            console.print(f"  {escape(verdict.method)}: {escape(verdict.brief())}", highlight=False)
        if any(verdict.by_value for verdict in verdicts):
            console.print("  [dim]Where no interval over three draws or more is given, the value alone decides.[/dim]")
        console.print()
    for agreement in result.agreements:
        _print_agreement(agreement, console)
    if result.mixed:
        console.print(f"[yellow]{escape(result.mixed)}[/yellow]", highlight=False)
    if result.failed() or result.skipped():
        _print_trouble(result, console)


def _print_remarks(board: Board, console: Console) -> None:
    """Print large gaps and the methods' notes."""
    for line in board.lines:
        remarks = line.remarks
        gap = [f"[yellow]gap {percent(remarks.gap or 0)}[/yellow], {escape(remarks.mark)}"] if remarks.mark else []
        if gap or remarks.notes:
            text = "; ".join([*gap, *map(escape, remarks.notes)])
            console.print(f" {escape(line.method)}: {text}", highlight=False)


def _print_agreement(agreement: AgreementTable, console: Console) -> None:
    table = Table(title=f"[bold]{escape(agreement.title)}[/bold]", title_justify="left", box=None, padding=(0, 1))
    for head in ("environment", *agreement.metrics):
        table.add_column(escape(head), overflow="fold")
    for environment in agreement.environments:
        rows = (agreement.row(environment, metric) for metric in agreement.metrics)
        table.add_row(escape(environment), *(escape(row.text) if row else "" for row in rows))
    console.print(table)
    for note in agreement.notes():
        console.print(f" [dim]{escape(note)}[/dim]", highlight=False)
    console.print()


def _console() -> Console:
    """A console as wide as the terminal; a file or a pipe has no width and gets 200 characters."""
    console = Console()
    return console if console.is_terminal else Console(width=200)


@dataclass(frozen=True)
class Column:
    """A heading and its cells, in Rich markup."""

    head: str
    cells: tuple[str, ...]

    @property
    def least(self) -> int:
        """The smallest width at which no cell is cut; a longer heading is folded."""
        return max(_width(cell) for cell in (*self.cells, self.head[:HEAD]))

    @property
    def best(self) -> int:
        return max(_width(cell) for cell in (*self.cells, self.head))


def _tables(result: Result, board: Board, width: int) -> Iterator[Table]:
    """The board in as many tables as are needed to show every number."""
    methods, *others = _columns(result, board)
    gaps = [_gaps(board)] if board.has_promises else []  # in each of the tables, beside the scores
    fits = sum(column.best + 2 for column in (methods, *gaps, *others)) <= width
    method_width = methods.best if fits else min(methods.best, width // 3)  # long ones are folded
    score_width = width - method_width - 2 - sum(column.least + 2 for column in gaps)
    title = f"[bold]{escape(board.environment)}[/bold]"
    for columns in [others] if fits else _groups(others, score_width):
        columns = [*gaps, *columns]
        table = Table(title=title, title_justify="left", box=None, padding=(0, 1), caption_justify="left")
        table.add_column(methods.head, width=method_width, overflow="fold")
        for column in columns:
            width_used = column.best if fits else column.least
            table.add_column(column.head, justify="right", width=width_used, overflow="fold")
        for cells in zip(methods.cells, *(column.cells for column in columns), strict=True):
            table.add_row(*cells)
        yield table
        title = f"[bold]{escape(board.environment)}[/bold], continued"


def _gaps(board: Board) -> Column:
    """The gap between the attributions' sum and what their method promises."""
    shown = ((line.remarks.gap, "[yellow]!" if line.remarks.mark else "") for line in board.lines)
    return Column("gap", tuple("" if gap is None else f"{mark}{percent(gap)}" for gap, mark in shown))


def _columns(result: Result, board: Board) -> list[Column]:
    columns = [Column("method", tuple(escape(line.method) for line in board.lines))]
    for metric in board.metrics:
        letters = board.letters(metric)
        cells = tuple(_score(board, metric, line, letters.get(line.method, "")) for line in board.lines)
        columns.append(Column(f"{escape(metric)} {arrow(result.run, metric)}".strip(), cells))
    ranks = ("" if line.mean_rank is None else f"{line.mean_rank:.1f}" for line in board.lines)
    return [*columns, Column("mean rank", tuple(ranks))]


def _score(board: Board, metric: str, line: Line, letters: str) -> str:
    """A score after its letters, so that numbers stand below each other."""
    text = score_text(line.cells[metric], board.is_best(metric, line.cells[metric]), RICH)
    return f"[cyan]{letters}[/cyan] {text}" if letters else text


def _groups(columns: Sequence[Column], width: int) -> list[list[Column]]:
    """Groups of neighbouring columns that fit side by side, at least one in each."""
    groups: list[list[Column]] = [[]]
    for column in columns:
        if groups[-1] and sum(member.least + 2 for member in (*groups[-1], column)) > width:
            groups.append([])
        groups[-1].append(column)
    return groups


def _width(text: str) -> int:
    return Text.from_markup(text).cell_len


def _print_trouble(result: Result, console: Console) -> None:
    for group in grouped_by_reason(result.scores()):
        style = "red" if group.status == "failed" else "dim"
        console.print(f"[{style}]{group.status}[/]: {escape(str(group))}", highlight=False)


def to_json(result: Result) -> dict[str, Any]:
    """The result for machines."""
    return {
        "study": result.study["name"],
        "scale": result.study.get("scale", "quick"),
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
        "sweep": sweep_json(result) if result.has_sweep else None,
        "faithfulness": {metric: _verdicts_json(result, metric) for metric, _ in result.verdicts},
        "agreement": [row.to_json() for table in result.agreements for row in table.rows],
        "failed": len(result.failed()),
        "skipped": len(result.skipped()),
        "mixed": result.mixed,
    }


def _score_json(score: Score) -> dict[str, Any]:
    return {**{name: getattr(score, name) for name in _FIELDS}, "deviation": deviation(score.per_seed)}


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
            "refuted_by": list(verdict.refuted_by),
            "checks": [
                {
                    "environment": measured.environment,
                    **measured.check.to_json(),
                    "value": measured.value,
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
