"""Tables, and how plain text, Markdown and LaTeX show them; ``report/terminal.py`` prints them on a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from assay.core.evidence import Score
from assay.report.text import Markup, score_text

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


def html(lines: Sequence[str], table: Table) -> str:
    """Sentences and the table below them, for notebooks; all text is escaped."""
    paragraphs = [f"<p>{escape(line)}</p>" for line in lines]
    head = "".join(f"<th>{escape(column)}</th>" for column in table.columns)
    rows = ("".join(f"<td>{_html_cell(cell)}</td>" for cell in row) for row in table.cells)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    notes = [f"<p><small>{escape(table.sentences)}</small></p>"] if table.notes else []
    return "\n".join([*paragraphs, f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>", *notes])


def _html_cell(cell: Cell) -> str:
    text = escape(_with_mark(cell, _HTML))
    return f"<b>{text}</b>" if cell.mark == "best" else text


# Markdown


def markdown(table: Table) -> list[str]:
    """Heading, table and notes."""
    notes = [escape_markdown(table.sentences)] if table.notes else []
    return [f"## {escape_markdown(table.caption)}", "\n".join(_markdown_lines(table)), *notes]


def _markdown_lines(table: Table) -> Iterator[str]:
    yield piped(*map(escape_markdown, table.columns))
    yield piped(*("---" if place < table.text else "---:" for place in range(len(table.columns))))
    for row in table.cells:
        texts = [_with_mark(cell, _MARKDOWN) for cell in row]
        yield piped(*map(escape_markdown, texts[: table.text]), *map(_escape_pipes, texts[table.text :]))


def escape_markdown(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>|#~$&])", r"\\\1", one_line(text))


def _escape_pipes(text: str) -> str:
    return text.replace("|", r"\|")


def piped(*texts: str) -> str:
    """One row."""
    return f"| {' | '.join(texts)} |"


_MARKDOWN = Markup(best=lambda text: f"**{text}**", deviation="±")
_HTML = Markup()


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
