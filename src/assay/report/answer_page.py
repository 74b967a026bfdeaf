"""An answer about a user's model, as the page needs it: sentences, verdicts, and a picture of each lead."""

from __future__ import annotations

from dataclasses import dataclass

from assay.report.answer import OUTCOMES, Answer
from assay.report.axes import Axis, distinct_ends
from assay.report.charts import BAR, Bar
from assay.report.loaded_run import LoadedRun
from assay.report.text import number, seconds
from assay.stats.method_verdicts import VerdictCell


@dataclass(frozen=True)
class Lead:
    """The mean lead of a method over chance in one family under one canvas."""

    text: str
    interval: str = ""
    bar: Bar | None = None
    note: str = ""  # why it decides nothing


@dataclass(frozen=True)
class VerdictRow:
    method: str
    outcome: str
    leads: tuple[Lead, ...]
    cost: str


@dataclass(frozen=True)
class AnswerSection:
    """One user's model."""

    results: tuple[str, ...]
    ground: tuple[str, ...]
    places: tuple[str, ...]
    rows: tuple[VerdictRow, ...]
    notes: tuple[str, ...]


def answer_sections(loaded: LoadedRun) -> list[AnswerSection]:
    return [_section(answer) for answer in loaded.result.answers.values()]


def _section(answer: Answer) -> AnswerSection:
    cells = {(verdict.method, cell.place): cell for verdict in answer.verdicts.methods for cell in verdict.cells}
    places = tuple(dict.fromkeys(place for _, place in cells))
    axes = {place: _axis([cell for (_, other), cell in cells.items() if other == place]) for place in places}
    rows = tuple(
        VerdictRow(
            verdict.method,
            verdict.outcome,
            tuple(_lead(cells.get((verdict.method, place)), axes[place]) for place in places),
            seconds(answer.costs[verdict.method]) if verdict.method in answer.costs else "",
        )
        for outcome in OUTCOMES
        for verdict in answer.outcome(outcome)
    )
    return AnswerSection(tuple(answer.results()), tuple(answer.ground()), places, rows, answer.table().notes)


def _axis(cells: list[VerdictCell]) -> Axis:
    ends = [
        end for cell in cells for lead in cell.leads[:1] for end in (lead.low, lead.high, lead.mean) if end is not None
    ]
    return Axis(*distinct_ends(min([0.0, *ends]), max([0.0, *ends])), 4, BAR - 4)


def _lead(cell: VerdictCell | None, axis: Axis) -> Lead:
    if cell is None or not cell.leads:
        return Lead("undefined")
    lead = cell.leads[0]
    low, high = (lead.mean if end is None else end for end in (lead.low, lead.high))
    interval = "" if lead.low is None else f"[{number(low)}, {number(high)}]"
    return Lead(number(lead.mean), interval, Bar(axis(lead.mean), axis(low), axis(high), axis(0.0)), cell.circular)
