"""Printing boards and verdicts on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from assay.report.board import Board, Cell, Result, arrow
from assay.report.trouble import outcomes, sorted_out
from assay.report.unbeaten import unbeaten
from assay.report.words import share, spread

HEAD = 14  # characters of a heading that stay on one line


def print_result(result: Result, console: Console | None = None) -> None:
    console = console or _console()
    for board in result.boards:
        if board.metrics:
            for table in _tables(result, board, console.width):
                console.print(table)
            _print_said(board, console)
            for metric, value in board.ceilings().items():
                told = f"truth has ties, so a map without ties reaches at most {value:.3f}"
                console.print(f" [dim]{escape(metric)}: {told}[/dim]", highlight=False)
            for note in board.notes():
                console.print(f" [dim]{escape(note)}[/dim]", highlight=False)
            for behind in unbeaten(result.run, board):
                console.print(f" [yellow]{escape(str(behind))}[/yellow]", highlight=False)
        else:
            console.print(f"[bold]{escape(board.environment)}[/bold]: no metric of this study is meant for it.")
        console.print()
    for (metric, gamma), verdicts in result.verdicts.items():
        console.print(f"[bold]Faithfulness test[/bold] on {escape(metric)} at gamma = {gamma:g}")
        for found in verdicts:
            console.print(f"  {escape(found.method)}: {escape(found.brief())}", highlight=False)
        if any(found.by_value for found in verdicts):
            console.print("  [dim]Where no interval over three draws or more is given, the value alone decides.[/dim]")
        console.print()
    _print_trouble(result, console)


def _print_said(board: Board, console: Console) -> None:
    """Gaps that are too large, and what methods noted."""
    for line in board.lines:
        said = line.said
        told = [f"[yellow]gap {share(said.gap or 0)}[/yellow], {escape(said.mark)}"] if said.mark else []
        if told or said.notes:
            words = "; ".join([*told, *map(escape, said.notes)])
            console.print(f" {escape(line.method)}: {words}", highlight=False)


def _console() -> Console:
    """As wide as the terminal; a file or a pipe has no width, so it gets enough."""
    console = Console()
    return console if console.is_terminal else Console(width=200)


@dataclass(frozen=True)
class Column:
    """A heading and its cells, as Rich reads them."""

    head: str
    cells: tuple[str, ...]

    @property
    def least(self) -> int:
        """Width at which no cell is cut; a longer heading is folded."""
        return max(_width(cell) for cell in (*self.cells, self.head[:HEAD]))

    @property
    def best(self) -> int:
        return max(_width(cell) for cell in (*self.cells, self.head))


def _tables(result: Result, board: Board, width: int) -> Iterator[Table]:
    """The board, in as many tables as it takes to show every number."""
    methods, *others = _columns(result, board)
    gaps = [_gaps(board)] if board.promising else []  # beside every score, so in each of the tables
    fits = sum(column.best + 2 for column in (methods, *gaps, *others)) <= width
    names = methods.best if fits else min(methods.best, width // 3)  # long ones are folded
    room = width - names - 2 - sum(column.least + 2 for column in gaps)
    title = f"[bold]{escape(board.environment)}[/bold]"
    for columns in [others] if fits else _groups(others, room):
        columns = [*gaps, *columns]
        table = Table(title=title, title_justify="left", box=None, padding=(0, 1), caption_justify="left")
        table.add_column(methods.head, width=names, overflow="fold")
        for column in columns:
            wide = column.best if fits else column.least
            table.add_column(column.head, justify="right", width=wide, overflow="fold")
        for cells in zip(methods.cells, *(column.cells for column in columns), strict=True):
            table.add_row(*cells)
        yield table
        title = f"[bold]{escape(board.environment)}[/bold], continued"


def _gaps(board: Board) -> Column:
    """How far attributions are from adding up to what their method promises."""
    shown = ((line.said.gap, "[yellow]!" if line.said.mark else "") for line in board.lines)
    return Column("gap", tuple("" if gap is None else f"{mark}{share(gap)}" for gap, mark in shown))


def _columns(result: Result, board: Board) -> list[Column]:
    found = [Column("method", tuple(escape(line.method) for line in board.lines))]
    for metric in board.metrics:
        best = min(_ranks(board, metric), default=None)
        cells = tuple(_text(line.cells[metric], best) for line in board.lines)
        found.append(Column(f"{escape(metric)} {arrow(result.run, metric)}".strip(), cells))
    ranks = ("" if line.mean_rank is None else f"{line.mean_rank:.1f}" for line in board.lines)
    return [*found, Column("mean rank", tuple(ranks))]


def _groups(columns: Sequence[Column], width: int) -> list[list[Column]]:
    """Neighbours that fit side by side; one at least."""
    groups: list[list[Column]] = [[]]
    for column in columns:
        if groups[-1] and sum(one.least + 2 for one in (*groups[-1], column)) > width:
            groups.append([])
        groups[-1].append(column)
    return groups


def _width(text: str) -> int:
    return Text.from_markup(text).cell_len


def _ranks(board: Board, metric: str) -> list[float]:
    ranks = (line.cells[metric].rank for line in board.lines)
    return [rank for rank in ranks if rank is not None]


def _text(cell: Cell, best_rank: float | None) -> str:
    if cell.status != "ok" or cell.value is None:
        return f"[dim]{'undefined' if cell.status == 'ok' else cell.status}[/dim]"
    best = "[bold]" if cell.rank is not None and cell.rank == best_rank else "[not bold]"
    text = f"{best}{cell.value:.3f}[/]"
    if told := spread(cell, short=True):
        text += f" [dim]{escape(told)}[/dim]"
    if cell.defined < cell.count:
        text += f" [yellow]{cell.defined}/{cell.count}[/yellow]"
    return text


def _print_trouble(result: Result, console: Console) -> None:
    for group in sorted_out(outcomes(result)):
        style = "red" if group.status == "failed" else "dim"
        console.print(f"[{style}]{group.status}[/]: {escape(str(group))}", highlight=False)


def to_json(result: Result) -> dict[str, Any]:
    """The result for machines."""
    return {
        "study": result.study["name"],
        "boards": [
            {
                "environment": board.environment,
                "methods": [
                    {
                        "method": line.method,
                        "mean_rank": line.mean_rank,
                        "gap": line.said.gap,
                        "gap_mark": line.said.mark,
                        "notes": list(line.said.notes),
                        "metrics": {metric: cell.__dict__ for metric, cell in line.cells.items()},
                    }
                    for line in board.lines
                ],
            }
            for board in result.boards
        ],
        "faithfulness": {metric: _tested(result, metric) for metric, _ in result.verdicts},
        "failed": len(result.failed()),
        "skipped": len(result.skipped()),
    }


def _tested(result: Result, metric: str) -> list[dict[str, Any]]:
    return [
        {
            "method": found.method,
            "gamma": gamma,
            "outcome": found.outcome,
            "refuted_by": list(found.refuted_by),
            "checks": [
                {
                    "environment": one.environment,
                    **one.check.to_json(),
                    "value": one.value,
                    "outcome": one.outcome,
                    "draws_below": list(one.draws_below),
                }
                for one in found.found
            ],
            "by_value": found.by_value,
            "verdict": str(found),
        }
        for (tested, gamma), verdicts in result.verdicts.items()
        if tested == metric
        for found in verdicts
    ]
