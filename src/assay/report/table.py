"""Tables, and how terminal, plain text, Markdown and LaTeX show them. The page's are in ``templates/parts.html.j2``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.core.evidence import Score
from assay.report.text import Markup, score_text

if TYPE_CHECKING:
    from rich.table import Table as RichTable

HEAD = 14  # characters of a heading that stay on one line of a terminal
_TEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "±": r"$\pm$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    **{letter: f"{{{letter}}}" for letter in "[]*"},  # after a row's \\\\, LaTeX reads these as its options
    **{letter: f"\\{letter}" for letter in "&%$#_"},
}


@dataclass(frozen=True)
class Cell:
    """A text or a score, with a mark."""

    content: str | Score
    mark: str = ""  # best (of its column), large (a gap); of a row's name: control, not varied
    letters: str = ""  # of a score: two methods that are not separated have one in common


Row = tuple[Cell | str, ...]


@dataclass(frozen=True)
class Table:
    """Rows of cells below headings."""

    columns: tuple[str, ...]  # headings; all empty: none is shown
    rows: tuple[Row, ...]
    caption: str = ""
    notes: tuple[str, ...] = ()
    text: int = 1  # so many columns at the left are text, the others numbers
    kept: int = 1  # so many columns at the left stand in every part of a table that is too wide for the terminal

    @property
    def cells(self) -> list[list[Cell]]:
        return [[cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in self.rows]

    @property
    def sentences(self) -> str:
        return " ".join(note if note.endswith(".") else f"{note}." for note in self.notes)


def plain_lines(table: Table) -> Iterator[str]:
    """Columns of text, two spaces apart."""
    rows = [list(table.columns), *([_plain(cell) for cell in row] for row in table.cells)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()


def _plain(cell: Cell) -> str:
    if isinstance(cell.content, Score):
        return score_text(cell.content)
    return f"!{cell.content}" if cell.mark == "large" else cell.content


# Markdown


def markdown(table: Table) -> list[str]:
    """Heading, table and notes."""
    notes = [escape_markdown(table.sentences)] if table.notes else []
    return [f"## {escape_markdown(table.caption)}", "\n".join(markdown_lines(table)), *notes]


def markdown_lines(table: Table, raw: bool = False) -> Iterator[str]:
    """The table alone; ``raw``: its texts are Markdown already."""
    yield _piped(table.columns if raw else [escape_markdown(head) for head in table.columns])
    yield _piped(["---" if place < table.text else "---:" for place in range(len(table.columns))])
    for row in table.cells:
        texts = [_with_mark(cell, _MARKDOWN) for cell in row]
        escaped = [*map(escape_markdown, texts[: table.text]), *map(_escape_pipes, texts[table.text :])]
        yield _piped(texts if raw else escaped)


def escape_markdown(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>|#~$&])", r"\\\1", one_line(text))


def _escape_pipes(text: str) -> str:
    return text.replace("|", r"\|")


def _piped(texts: Sequence[str]) -> str:
    return f"| {' | '.join(texts)} |"


_MARKDOWN = Markup(best=lambda text: f"**{text}**", deviation="±")


def _with_mark(cell: Cell, markup: Markup) -> str:
    if isinstance(cell.content, Score):
        return f"{score_text(cell.content, cell.mark == 'best', markup)} {cell.letters}".strip()
    marks = {"large": " !", "control": " (control)", "not varied": " (not varied)"}
    return f"{cell.content}{marks.get(cell.mark, '')}"


# LaTeX


def tex(table: Table) -> str:
    """A ``table`` for the package booktabs, with the notes in its caption."""
    lines = [" & ".join(map(escape_tex, table.columns)), *(" & ".join(_tex_row(table, row)) for row in table.cells)]
    head, *body = (f"    {line} \\\\" for line in lines)
    return "\n".join(
        [
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{escape_tex(f'{table.caption}. {table.sentences}'.strip())}}}",
            rf"  \begin{{tabular}}{{{'l' * table.text}{'r' * (len(table.columns) - table.text)}}}",
            r"    \toprule",
            head,
            r"    \midrule",
            *body,
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
        ]
    )


def _tex_row(table: Table, row: Sequence[Cell]) -> Iterator[str]:
    for place, cell in enumerate(row):
        text = _with_mark(cell, _MARKUP_TEX)
        escaped = text if isinstance(cell.content, Score) else escape_tex(text)
        yield escaped if place < table.text else re.sub(r"-(?=\d)", "$-$", escaped)


def escape_tex(text: str) -> str:
    return "".join(_TEX.get(letter, letter) for letter in one_line(text))


def one_line(text: str) -> str:
    return " ".join(text.split())


def _small(text: str) -> str:
    return rf"{{\scriptsize {text}}}"


_MARKUP_TEX = Markup(best=lambda text: rf"\textbf{{{text}}}", interval=_small, count=_small, deviation=r"$\pm$")


# Terminal


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


def rich_tables(table: Table, width: int) -> Iterator[RichTable]:
    """The table in as many parts as are needed to show every number; texts are folded."""
    columns = [
        _Column(_escaped(head), tuple(_rich(row[place]) for row in table.cells))
        for place, head in enumerate(table.columns)
    ]
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
    from rich.table import Table as RichTable

    heads = any(column.head for column in columns)
    title = f"[bold]{_escaped(caption)}[/bold]" if caption else None
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
    return styles.get(cell.mark, "{}").format(_escaped(cell.content))


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)


_RICH = Markup(
    value=lambda text: f"[not bold]{text}[/]",
    best=lambda text: f"[bold]{text}[/]",
    interval=lambda text: f"[dim]{_escaped(text)}[/dim]",
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
    from rich.text import Text

    return Text.from_markup(text).cell_len
