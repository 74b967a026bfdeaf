"""Verdicts on methods as sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from assay.stats.rows_needed import MOST_ROWS

if TYPE_CHECKING:
    from assay.stats.method_verdicts import VerdictCell

Cells = Sequence["VerdictCell"]


def not_tested(cells: Cells) -> str:
    return "; ".join(f"{cell.place}: {cell.circular or 'no row has a value'}" for cell in cells)


def too_few_rows(rows: int, tests: int, fewest: int) -> str:
    return f"{rows} rows are too few for any verdict: {tests} tests need {fewest} or more"


def passes(cells: Cells) -> str:
    return f"{_above(cells)}; not separated below the best"


def behind(cells: Cells) -> str:
    return f"{_above(cells)}; separated below {_names(cell.best for cell in cells)}"


def no_better(cells: Cells) -> str:
    return f"no better than {_names(cell.no_better_than[0] for cell in cells)} in {_places(cells)}"


def depends(above: Cells, lost: Cells) -> str:
    controls = _names(lead.over for cell in above for lead in cell.leads)
    return f"above {controls} in {', '.join(map(_numbers, above))}, but {_losses(lost)}"


def undecided(p_holm: Mapping[str, float], lost: Cells, needed: int | None) -> str:
    found = ", ".join(f"{p:.2g} in {family}" for family, p in p_holm.items())
    decide = f"about {needed:,} rows would decide" if needed else f"no number of rows up to {MOST_ROWS:,} would decide"
    below = [cell for cell in lost if not cell.no_better_than]
    flat = [cell for cell in lost if cell.no_better_than]
    known = [f"p = {found} after Holm's correction"]
    known += [f"separated below {_names(cell.best for cell in below)} in {_places(below)}"] if below else []
    known += [no_better(flat)] if flat else []
    return f"{'; '.join(known)}; {decide} if means and deviations stay as they are"


def not_counted(cells: Cells) -> str:
    """Circular cells, at the end of a sentence."""
    return f" (not counted: {'; '.join(f'{cell.place}, {cell.circular}' for cell in cells)})" if cells else ""


def _above(cells: Cells) -> str:
    return f"above {_names(lead.over for cell in cells for lead in cell.leads)} in {_places(cells)}"


def _losses(cells: Cells) -> str:
    return "; ".join(
        f"no better than {_names(cell.no_better_than)} in {_numbers(cell)}"
        if cell.state == "no better than chance"
        else f"below {cell.best} by {cell.behind_by:.3f} in {_numbers(cell)}"
        for cell in cells
    )


def _numbers(cell: VerdictCell) -> str:
    chance = cell.leads[0]
    low, high = (None if limit is None else _number(limit) for limit in (chance.low, chance.high))
    interval = "" if low is None else f" [{low}, {high}]"
    return f"{cell.place} ({_number(chance.mean)}{interval})"


def _number(value: float) -> str:
    return f"{round(value, 3) + 0.0:.3f}"  # no minus sign before 0.000


def _places(cells: Cells) -> str:
    """Families and canvases, or a list if not every family has every canvas."""
    families, canvases = ({getattr(cell, name): None for cell in cells} for name in ("family", "canvas"))
    if len(cells) < len(families) * len(canvases):
        return _names(cell.place for cell in cells)
    under = {1: next(iter(canvases)), 2: "both canvases"}.get(len(canvases), f"all {len(canvases)} canvases")
    return f"{_names(families)} under {under}"


def _names(names: Iterable[str]) -> str:
    *others, last = dict.fromkeys(names)
    return f"{', '.join(others)} and {last}" if others else last
