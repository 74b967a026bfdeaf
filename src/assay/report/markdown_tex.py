"""Leaderboards, failure curves and agreement as Markdown and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.report.agreements import AgreementTable
from assay.report.board import Board, Line, Result, arrow
from assay.report.components import by_label
from assay.report.sweep import run_sweep
from assay.report.text import Markup, interval_notes, percent, score_text

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
    **{letter: f"{{{letter}}}" for letter in "[]*"},  # after a row's \\\\, LaTeX reads these as its options
    **{letter: f"\\{letter}" for letter in "&%$#_"},
}
NOTE = (
    "95 % intervals in brackets; after ±: standard deviation over seeds; bold: best of its column; "
    "(control): knows nothing about the model; "
    "gap: from the attribution's sum to what its method promises; ! above 10 %: not converged, or a rule fails here."
)


def _escape_pipes(text: str) -> str:
    return text.replace("|", r"\|")


def _small(text: str) -> str:
    return rf"{{\scriptsize {text}}}"


MARKDOWN = Markup(best=lambda text: f"**{text}**", interval=_escape_pipes, deviation="±")
TEX = Markup(best=lambda text: rf"\textbf{{{text}}}", interval=_small, count=_small, deviation=r"$\pm$")


@dataclass(frozen=True)
class _Grid:
    """A table of texts with notes."""

    title: str
    heads: tuple[str, ...]
    rows: Mapping[str, Sequence[str]]  # by the text of their first column
    notes: tuple[str, ...]

    @property
    def sentences(self) -> str:
        return " ".join(f"{note}." for note in self.notes)


def markdown(result: Result) -> str:
    """Failure curves, one table per environment, agreement. The best value of a column is bold."""
    parts = [f"# {escape_markdown(_title(result))}", f"Run {result.run.data['run']}. {NOTE}"]
    parts += [part for grid in _sweeps(result) for part in _markdown_grid(grid)]
    for board in result.boards:
        parts += [f"## {escape_markdown(board.environment)}", "\n".join(_markdown_lines(result, board))]
        parts += [escape_markdown(_notes(board))] if board.notes() else []
    parts += [part for table in result.agreements for part in _markdown_grid(_agreement(table))]
    parts += [escape_markdown(result.mixed)] if result.mixed else []
    return "\n\n".join(parts) + "\n"


def tex(result: Result) -> str:
    """The same tables, each a ``table`` for the package booktabs."""
    head = r"% \usepackage[T1]{fontenc} \usepackage{booktabs}"
    sweeps = [_tex_grid(grid) for grid in _sweeps(result)]
    boards = [_tex_table(result, board) for board in result.boards]
    agreements = [_tex_grid(_agreement(table)) for table in result.agreements]
    return "\n".join([head, f"% {_one_line(_title(result))}", *sweeps, *boards, *agreements]) + "\n"


def escape_markdown(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>|#~$&])", r"\\\1", _one_line(text))


def escape_tex(text: str) -> str:
    return "".join(_TEX.get(letter, letter) for letter in _one_line(text))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _title(result: Result) -> str:
    return result.study.title or result.study.name


def _labels(result: Result) -> dict[str, str]:
    methods = by_label(result.run, "methods")
    return {label: f"{label} (control)" if method.control else label for label, method in methods.items()}


def _markdown_lines(result: Result, board: Board) -> Iterator[str]:
    arrows = {metric: arrow(result.run, metric) for metric in board.metrics}
    heads = [f"{escape_markdown(metric)} {direction}".strip() for metric, direction in arrows.items()]
    yield _piped("method", *_gap_head(board), *heads, "mean rank")
    yield _piped("---", *(["---:"] * (len(board.metrics) + 1 + board.has_promises)))
    labels = _labels(result)
    for line in board.lines:
        cells = [_score(board, metric, line, MARKDOWN) for metric in board.metrics]
        mean_rank = "" if line.mean_rank is None else f"{line.mean_rank:.1f}"
        yield _piped(escape_markdown(labels[line.method]), *_gap(board, line), *cells, mean_rank)


def _gap_head(board: Board) -> list[str]:
    return ["gap"] if board.has_promises else []


def _gap(board: Board, line: Line) -> list[str]:
    """The gap, with a mark where it is large; ``NOTE`` explains it."""
    if not board.has_promises:
        return []
    return ["" if line.remarks.gap is None else f"{percent(line.remarks.gap)}{' !' if line.remarks.mark else ''}"]


def _piped(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _tex_table(result: Result, board: Board) -> str:
    arrows = {metric: arrow(result.run, metric, r"$\uparrow$", r"$\downarrow$") for metric in board.metrics}
    metrics = [f"{escape_tex(metric)} {direction}".strip() for metric, direction in arrows.items()]
    heads = ["method", *_gap_head(board), *metrics, "mean rank"]
    note = f"{board.environment}. {NOTE} {_notes(board)} {result.mixed}".strip()
    return _tex_frame(note, heads, "\n".join(_tex_lines(result, board)))


def _tex_frame(caption: str, heads: list[str], body: str) -> str:
    return "\n".join(
        [
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{escape_tex(caption)}}}",
            rf"  \begin{{tabular}}{{l{'r' * (len(heads) - 1)}}}",
            r"    \toprule",
            f"    {' & '.join(heads)} \\\\",
            r"    \midrule",
            body,
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
        ]
    )


def _tex_lines(result: Result, board: Board) -> Iterator[str]:
    labels = _labels(result)
    for line in board.lines:
        texts = (_score(board, metric, line, TEX) for metric in board.metrics)
        cells = [_tex_minus(text) for text in texts]
        mean_rank = "" if line.mean_rank is None else f"{line.mean_rank:.1f}"
        gap = [escape_tex(text) for text in _gap(board, line)]
        yield f"    {' & '.join([escape_tex(labels[line.method]), *gap, *cells, mean_rank])} \\\\"


def _agreement(table: AgreementTable) -> _Grid:
    rows = [[table.row(environment, metric) for metric in table.metrics] for environment in table.environments]
    texts = [[row.text if row else "" for row in line] for line in rows]
    named = dict(zip(table.environments, texts, strict=True))
    return _Grid(table.title, ("environment", *table.metrics), named, tuple(table.notes()))


def _sweeps(result: Result) -> Iterator[_Grid]:
    """Scores over the values of the parameter, one table for each metric and environment. A method that is not varied
    has the same score at all values: it stands at the first one."""
    if not result.has_sweep:
        return
    sweep = run_sweep(result)
    for table in sweep.tables:
        rows = {
            f"{line.label} (not varied)" if line.level else line.label: [
                score_text(cell) if at == 0 or not line.level else "" for at, cell in enumerate(line.cells)
            ]
            for line in table.lines
        }
        title = f"{table.metric} over {sweep.label}: {table.environment}"
        intervals = interval_notes((table.metric, cell) for line in table.lines for cell in line.cells)
        notes = (*intervals, *table.gaps(sweep.texts))
        yield _Grid(title, (sweep.parameter, *sweep.texts), rows, notes)


def _markdown_grid(grid: _Grid) -> list[str]:
    lines = [
        _piped(*map(escape_markdown, grid.heads)),
        _piped("---", *(["---:"] * (len(grid.heads) - 1))),
        *(_piped(escape_markdown(name), *map(_escape_pipes, texts)) for name, texts in grid.rows.items()),
    ]
    return [f"## {escape_markdown(grid.title)}", "\n".join(lines), escape_markdown(grid.sentences)]


def _tex_grid(grid: _Grid) -> str:
    lines = [
        f"    {' & '.join([escape_tex(name), *(_tex_minus(escape_tex(text)) for text in texts)])} \\\\"
        for name, texts in grid.rows.items()
    ]
    return _tex_frame(f"{grid.title}. {grid.sentences}", [*map(escape_tex, grid.heads)], "\n".join(lines))


def _tex_minus(text: str) -> str:
    return re.sub(r"-(?=\d)", "$-$", text)


def _score(board: Board, metric: str, line: Line, markup: Markup) -> str:
    text = score_text(line.cells[metric], board.is_best(metric, line.cells[metric]), markup)
    return f"{text} {board.letters(metric).get(line.method, '')}".strip()


def _notes(board: Board) -> str:
    return " ".join(f"{note}." for note in board.notes())
