"""Leaderboards as Markdown and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from assay.report.board import Board, Cell, Line, Result, arrow
from assay.report.components import by_label
from assay.report.words import number, share, spread

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
    **{letter: f"{{{letter}}}" for letter in "[]*"},  # after the end of a line these would be its options
    **{letter: f"\\{letter}" for letter in "&%$#_"},
}
NOTE = (
    "95 % intervals in brackets; bold: best of its column; (control): knows nothing about the model; "
    "gap: of the attribution's sum to what its method promises, ! above 10 %: not converged, or a rule that fails here."
)

Words = Callable[[str], str]


def markdown(result: Result) -> str:
    """One table per environment; the best value of a column is bold."""
    parts = [f"# {escape_markdown(_title(result))}", f"Run {result.run.data['run']}. {NOTE}"]
    for board in result.boards:
        parts += [f"## {escape_markdown(board.environment)}", "\n".join(_markdown_lines(result, board))]
        parts += [escape_markdown(_notes(board))] if board.notes() else []
    return "\n\n".join(parts) + "\n"


def tex(result: Result) -> str:
    """One ``table`` per environment, for the package booktabs."""
    head = r"% \usepackage[T1]{fontenc} \usepackage{booktabs}"
    return (
        "\n".join([head, f"% {_one_line(_title(result))}", *(_tex_table(result, board) for board in result.boards)])
        + "\n"
    )


def escape_markdown(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>|#~$&])", r"\\\1", _one_line(text))


def escape_tex(text: str) -> str:
    return "".join(_TEX.get(letter, letter) for letter in _one_line(text))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _title(result: Result) -> str:
    return str(result.study["title"] or result.study["name"])


def _labels(result: Result) -> dict[str, str]:
    found = by_label(result.run, "methods")
    return {label: f"{label} (control)" if method.control else label for label, method in found.items()}


def _best(board: Board, metric: str, cell: Cell) -> bool:
    ranks = [line.cells[metric].rank for line in board.lines]
    return cell.rank is not None and cell.rank == min(rank for rank in ranks if rank is not None)


def _markdown_lines(result: Result, board: Board) -> Iterator[str]:
    arrows = {metric: arrow(result.run, metric) for metric in board.metrics}
    heads = [f"{escape_markdown(metric)} {way}".strip() for metric, way in arrows.items()]
    yield _piped("method", *_gap_head(board), *heads, "mean rank")
    yield _piped("---", *(["---:"] * (len(board.metrics) + 1 + board.promising)))
    labels = _labels(result)
    for line in board.lines:
        cells = [_text(board, metric, line.cells[metric], _markdown_bold, _markdown_small) for metric in board.metrics]
        mean = "" if line.mean_rank is None else f"{line.mean_rank:.1f}"
        yield _piped(escape_markdown(labels[line.method]), *_gap(board, line), *cells, mean)


def _gap_head(board: Board) -> list[str]:
    return ["gap"] if board.promising else []


def _gap(board: Board, line: Line) -> list[str]:
    """The gap, with a mark where it is too large; the note below the table explains it."""
    if not board.promising:
        return []
    return ["" if line.said.gap is None else f"{share(line.said.gap)}{' !' if line.said.mark else ''}"]


def _piped(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _text(board: Board, metric: str, cell: Cell, bold: Words, small: Words) -> str:
    if cell.value is None:
        return "undefined" if cell.status == "ok" else cell.status
    parts = [bold(number(cell.value)) if _best(board, metric, cell) else number(cell.value)]
    if told := spread(cell):
        parts.append(small(told))
    if cell.defined < cell.count:
        parts.append(small(f"{cell.defined}/{cell.count}"))
    return " ".join(parts)


def _tex_table(result: Result, board: Board) -> str:
    arrows = {metric: arrow(result.run, metric, r"$\uparrow$", r"$\downarrow$") for metric in board.metrics}
    metrics = [f"{escape_tex(metric)} {way}".strip() for metric, way in arrows.items()]
    heads = ["method", *_gap_head(board), *metrics, "mean rank"]
    body, note = "\n".join(_tex_lines(result, board)), f"{NOTE} {_notes(board)}".strip()
    return "\n".join(
        [
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{escape_tex(board.environment)}. {escape_tex(note)}}}",
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
        texts = (_text(board, metric, line.cells[metric], _tex_bold, _tex_small) for metric in board.metrics)
        cells = [re.sub(r"-(?=\d)", "$-$", text) for text in texts]
        mean = "" if line.mean_rank is None else f"{line.mean_rank:.1f}"
        gap = [escape_tex(text) for text in _gap(board, line)]
        yield f"    {' & '.join([escape_tex(labels[line.method]), *gap, *cells, mean])} \\\\"


def _notes(board: Board) -> str:
    return " ".join(f"{note}." for note in board.notes())


def _markdown_bold(text: str) -> str:
    return f"**{text}**"


def _markdown_small(text: str) -> str:
    return text.replace("|", r"\|")


def _tex_bold(text: str) -> str:
    return rf"\textbf{{{text}}}"


def _tex_small(text: str) -> str:
    return rf"{{\scriptsize {text}}}"
