"""Printing boards and verdicts on a terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from assay.report.board import Board, Cell, Result, arrow


def print_result(result: Result, console: Console | None = None) -> None:
    console = console or _console()
    for board in result.boards:
        if board.metrics:
            console.print(_table(result, board))
            for metric, value in board.ceilings().items():
                told = f"truth has ties, so a map without ties reaches at most {value:.3f}"
                console.print(f" [dim]{escape(metric)}: {told}[/dim]", highlight=False)
        else:
            console.print(f"[bold]{escape(board.environment)}[/bold]: no metric of this study is meant for it.")
        console.print()
    for (metric, gamma), verdicts in result.verdicts.items():
        console.print(f"[bold]Faithfulness test[/bold] on {escape(metric)} at gamma = {gamma:g}")
        for found in verdicts:
            console.print(f"  {escape(found.method)}: {escape(str(found))}", highlight=False)
        console.print()
    _print_trouble(result, console)


def _console() -> Console:
    """As wide as the terminal; a file or a pipe has no width, so it gets enough."""
    console = Console()
    return console if console.is_terminal else Console(width=200)


def _table(result: Result, board: Board) -> Table:
    title = f"[bold]{escape(board.environment)}[/bold]"
    table = Table(title=title, title_justify="left", box=None, padding=(0, 1), caption_justify="left")
    table.add_column("method", no_wrap=True)
    for metric in board.metrics:
        table.add_column(f"{escape(metric)} {arrow(result.run, metric)}".strip(), justify="right")
    table.add_column("mean rank", justify="right")
    best = {metric: min(_ranks(board, metric), default=None) for metric in board.metrics}
    for line in board.lines:
        cells = [_text(line.cells[metric], best[metric]) for metric in board.metrics]
        table.add_row(escape(line.method), *cells, "" if line.mean_rank is None else f"{line.mean_rank:.1f}")
    return table


def _ranks(board: Board, metric: str) -> list[float]:
    ranks = (line.cells[metric].rank for line in board.lines)
    return [rank for rank in ranks if rank is not None]


def _text(cell: Cell, best_rank: float | None) -> str:
    if cell.status != "ok" or cell.value is None:
        return f"[dim]{'undefined' if cell.status == 'ok' else cell.status}[/dim]"
    best = "[bold]" if cell.rank is not None and cell.rank == best_rank else "[not bold]"
    text = f"{best}{cell.value:.3f}[/]"
    if cell.low is not None and cell.high is not None:
        text += f" [dim]{_short(cell.low)}–{_short(cell.high)}[/dim]"
    if cell.defined < cell.count:
        text += f" [yellow]{cell.defined}/{cell.count}[/yellow]"
    return text


def _short(value: float) -> str:
    """Without the 0 before the point, where there is nothing else before it."""
    text = f"{value:.3f}"
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text


def _print_trouble(result: Result, console: Console) -> None:
    for word, rows in (("skipped", result.skipped()), ("failed", result.failed())):
        reasons: dict[tuple[str, str], list[str]] = {}
        for board, line, metric, cell in rows:
            reasons.setdefault((line.method, cell.reason), []).append(f"{metric} on {board.environment}")
        for (method, reason), places in reasons.items():
            where = places[0] if len(places) == 1 else f"{len(places)} cells"
            style = "red" if word == "failed" else "dim"
            console.print(f"[{style}]{word}[/] {escape(method)} ({escape(where)}): {escape(reason)}", highlight=False)


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
        {"method": found.method, "gamma": gamma, "refuted_by": list(found.refuted_by), "verdict": str(found)}
        for (tested, gamma), verdicts in result.verdicts.items()
        if tested == metric
        for found in verdicts
    ]
