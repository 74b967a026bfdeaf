"""The tables of a result: leaderboards, failure curves, agreement, slopes and response to damage; Markdown, LaTeX."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from assay.report.agreements import AgreementTable
from assay.report.board import Board, Line, Result, arrow
from assay.report.common_levels import CommonLevels
from assay.report.components import by_label
from assay.report.damages import PAIR_NAMES, DamageRow, DamageTable
from assay.report.remarks import MethodRemarks
from assay.report.slopes import SlopeTable
from assay.report.sweep import RunSweep, SweepLine, SweepTable, run_sweep
from assay.report.table import Cell, Row, Table, escape_markdown, one_line
from assay.report.table import markdown as table_markdown
from assay.report.table import tex as table_tex
from assay.report.text import interval_notes, number, percent, score_text

NOTE = (
    "95 % intervals in brackets; after ±: standard deviation over seeds; bold: best of its column; "
    "(control): knows nothing about the model; "
    "gap: from the attribution's sum to what its method promises; ! above 10 %: not converged, or a rule fails here."
)


def markdown(result: Result) -> str:
    """Failure curves, one table per environment, agreement, slopes, damage. The best value of a column is bold."""
    tables = [*_sweep_tables(result), *_boards(result), *_comparisons(result)]
    parts = [f"# {escape_markdown(_title(result))}", f"Run {result.run.data['run']}. {NOTE}"]
    parts += [part for table in tables for part in table_markdown(table)]
    parts += [escape_markdown(result.mixed)] if result.mixed else []
    return "\n\n".join(parts) + "\n"


def tex(result: Result) -> str:
    """The same tables, each a ``table`` for the package booktabs."""
    mixed = [result.mixed] if result.mixed else []
    boards = (replace(table, notes=(NOTE, *table.notes, *mixed)) for table in _boards(result))
    tables = [*_sweep_tables(result), *boards, *_comparisons(result)]
    head = [r"% \usepackage[T1]{fontenc} \usepackage{booktabs}", f"% {one_line(_title(result))}"]
    return "\n".join([*head, *map(table_tex, tables)]) + "\n"


def _title(result: Result) -> str:
    return result.study.title or result.study.name


def _boards(result: Result) -> Iterator[Table]:
    return (board_table(result, board) for board in result.boards)


def board_table(result: Result, board: Board) -> Table:
    """Methods down, metrics across, with the completeness gap where a method promises a sum."""
    methods = by_label(result.run, "methods")
    heads = [f"{metric} {arrow(result.run, metric)}".strip() for metric in board.metrics]
    gap_head = ["gap"] if board.has_promises else []
    rows: tuple[Row, ...] = tuple(
        (
            Cell(line.method, "control" if methods[line.method].control else ""),
            *(gap_cell(line.remarks) for _ in gap_head),
            *(_score_cell(board, line, metric) for metric in board.metrics),
            "" if line.mean_rank is None else f"{line.mean_rank:.1f}",
        )
        for line in board.lines
    )
    columns = ("method", *gap_head, *heads, "mean rank")
    return Table(columns, rows, board.environment, board.notes(), kept=1 + len(gap_head))


def _score_cell(board: Board, line: Line, metric: str) -> Cell:
    score = line.cells[metric]
    return Cell(score, "best" if board.is_best(metric, score) else "", board.letters(metric).get(line.method, ""))


def gap_cell(remarks: MethodRemarks) -> Cell:
    return Cell("" if remarks.gap is None else percent(remarks.gap), "large" if remarks.mark else "")


def compared(result: Result) -> Iterator[Table]:
    """Methods at common levels, metrics with truth, rankings with each other."""
    yield from (levels_table(common) for common in result.common_levels if common.is_news)
    yield from map(agreement_table, result.agreements)
    yield from map(slope_table, result.slopes)


def _comparisons(result: Result) -> Iterator[Table]:
    """Of methods and metrics with each other, as documents have them."""
    yield from compared(result)
    for table in result.damages:
        yield damage_table(table)
        yield from (distance_table(table, metric) for metric in table.metrics)


def levels_table(common: CommonLevels) -> Table:
    """Methods down, best first."""
    rows: tuple[Row, ...] = tuple((name, Cell(score)) for name, score in common.scores.items())
    return Table(("method", common.metric), rows, common.title, tuple(common.notes()))


def agreement_table(agreement: AgreementTable) -> Table:
    """Environments down, metrics across."""
    rows = tuple(
        (
            environment,
            *(row.text if (row := agreement.row(environment, metric)) else "" for metric in agreement.metrics),
        )
        for environment in agreement.environments
    )
    return Table(("environment", *agreement.metrics), rows, agreement.title, tuple(agreement.notes()))


def slope_table(slope: SlopeTable) -> Table:
    """Environments down, or metrics."""
    return Table(slope.heads, tuple((row.name, *row.texts) for row in slope.rows), slope.title, tuple(slope.notes()))


def damage_table(table: DamageTable) -> Table:
    """Damages down, metrics across: the smallest of the three distances."""
    rows: tuple[Row, ...] = tuple(
        (name, *(Cell(row.response.minimum) if (row := table.row(name, metric)) else "" for metric in table.metrics))
        for name in table.names
    )
    notes = (*table.sentences(), *table.notes())
    return Table(("damage", *table.metrics), rows, table.title, notes)


def distance_table(table: DamageTable, metric: str) -> Table:
    """Damages down; across, the distances of one metric and the smallest of them."""
    rows = table.of_metric(metric)
    pairs = tuple(rows[0].response.pairs)
    heads = [f"{PAIR_NAMES[left]} – {PAIR_NAMES[right]}" for left, right in pairs]
    body: tuple[Row, ...] = tuple(
        (row.name, *(Cell(row.response.pairs[pair]) for pair in pairs), Cell(row.response.minimum), _of_means(row))
        for row in rows
    )
    return Table(
        ("damage", *heads, "smallest", "smallest of mean curves"),
        body,
        f"Response of {metric} to damage: {table.environment}",
    )


def _of_means(row: DamageRow) -> str:
    return "" if row.response.of_means is None else number(row.response.of_means)


def sweep_table(sweep: RunSweep, table: SweepTable, intervals: bool = True) -> Table:
    """Methods down, values of the parameter across. A method that is not varied has the same score at all values: it
    stands at the first one."""
    rows: tuple[Row, ...] = tuple(
        (Cell(line.label, "not varied" if line.level else ""), *_over_values(line, intervals)) for line in table.lines
    )
    notes = interval_notes((table.metric, score) for line in table.lines for score in line.cells) if intervals else ()
    caption = f"{table.metric} over {sweep.label}: {table.environment}"
    return Table((sweep.parameter, *sweep.texts), rows, caption, (*notes, *table.gaps(sweep.texts)))


def _over_values(line: SweepLine, intervals: bool) -> Iterator[str]:
    for place, score in enumerate(line.cells):
        if line.level and place:
            yield ""
        elif intervals:
            yield score_text(score)
        else:
            yield "–" if score.value is None else number(score.value)


def _sweep_tables(result: Result) -> Iterator[Table]:
    if result.has_sweep:
        sweep = run_sweep(result)
        yield from (sweep_table(sweep, table) for table in sweep.tables)
