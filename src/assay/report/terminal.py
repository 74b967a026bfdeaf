"""Tables on a terminal: in parts, where they are wider than it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable
from rich.text import Text

from assay.core.evidence import Score
from assay.report.table import Cell, Table
from assay.report.text import Markup, score_text

COMPACT = 80  # characters of a compact table
HEAD = 14  # characters of a heading that stay on one line


@dataclass(frozen=True)
class _Column:
    """A heading and its cells, in Rich markup."""

    head: str
    cells: tuple[str, ...]

    @property
    def least(self) -> int:
        """The smallest width at which no cell is cut; a longer heading is folded."""
        return max(map(_width, (*self.cells, self.head[:HEAD])))

    @property
    def best(self) -> int:
        return max(map(_width, (*self.cells, self.head)))


def print_table(table: Table, console: Console) -> None:
    """The table, and its notes below it."""
    for part in _rich_tables(table, console.width):
        console.print(part)
    for note in table.notes:
        console.print(f" [dim]{escape(note)}[/dim]", highlight=False)


def print_compact(table: Table, console: Console) -> None:
    """The table without what does not fit: columns are left out from the right."""
    width = min(console.width, COMPACT)
    columns = _columns(table)
    while len(columns) > table.kept + 1 and sum(column.least + 2 for column in columns) > width:
        columns.pop()
    fits = sum(column.best + 2 for column in columns) <= width
    widths = [column.best if fits else column.least for column in columns]
    console.print(_rich_table(table.caption, columns, widths, table.text))


def _columns(table: Table) -> list[_Column]:
    return [
        _Column(escape(head), tuple(_rich(row[place]) for row in table.cells))
        for place, head in enumerate(table.columns)
    ]


def _rich_tables(table: Table, width: int) -> Iterator[RichTable]:
    """The table in as many parts as are needed to show every number; texts are folded."""
    columns = _columns(table)
    first, kept, others = columns[0], columns[1 : table.kept], columns[table.kept :]
    if table.text == len(columns):
        yield _rich_table(table.caption, columns, [None] * len(columns), table.text)
        return
    fits = sum(column.best + 2 for column in columns) <= width
    first_width = first.best if fits else min(first.best, width // 3)  # a long one is folded
    room = width - first_width - 2 - sum(column.least + 2 for column in kept)
    for part, group in enumerate([others] if fits else _groups(others, room)):
        shown = [*kept, *group]
        widths = [first_width, *(column.best if fits else column.least for column in shown)]
        yield _rich_table(f"{table.caption}, continued" if part else table.caption, [first, *shown], widths, table.text)


def _rich_table(caption: str, columns: Sequence[_Column], widths: Sequence[int | None], text: int) -> RichTable:
    heads = any(column.head for column in columns)
    title = f"[bold]{escape(caption)}[/bold]" if caption else None
    drawn = RichTable(title=title, title_justify="left", box=None, padding=(0, 1 if heads else 2), show_header=heads)
    for place, (column, width) in enumerate(zip(columns, widths, strict=True)):
        drawn.add_column(column.head, justify="left" if place < text else "right", width=width, overflow="fold")
    for cells in zip(*(column.cells for column in columns), strict=True):
        drawn.add_row(*cells)
    return drawn


def _rich(cell: Cell) -> str:
    """A score stands after its letters, so that numbers stand below each other."""
    if isinstance(cell.content, Score):
        text = score_text(cell.content, cell.mark == "best", _RICH)
        return f"[cyan]{cell.letters}[/cyan] {text}" if cell.letters else text
    styles = {"best": "[bold]{}[/]", "large": "[yellow]!{}[/]", "not varied": "[dim]{}[/]"}
    return styles.get(cell.mark, "{}").format(escape(cell.content))


_RICH = Markup(
    value=lambda text: f"[not bold]{text}[/]",
    best=lambda text: f"[bold]{text}[/]",
    interval=lambda text: f"[dim]{escape(text)}[/dim]",
    count=lambda text: f"[yellow]{text}[/yellow]",
    missing=lambda text: f"[dim]{text}[/dim]",
    short=True,
)


def _groups(columns: Sequence[_Column], width: int) -> list[list[_Column]]:
    """Groups of neighbouring columns that fit side by side, at least one in each."""
    groups: list[list[_Column]] = [[]]
    for column in columns:
        if groups[-1] and sum(member.least + 2 for member in (*groups[-1], column)) > width:
            groups.append([])
        groups[-1].append(column)
    return groups


def _width(text: str) -> int:
    return Text.from_markup(text).cell_len
