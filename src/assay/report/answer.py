"""What follows from an evaluation of a user's own model, in words first: verdicts, what they rest on, what they cost.

The rules are in ``stats/method_verdicts.py``; here are the words. Read from the records of a run, like a board.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.core.records import Record
from assay.report.circular_pairs import circular, other_question
from assay.report.components import Component, by_label
from assay.report.sample_values import sample_values, series_of
from assay.report.table import Cell, Row, Table
from assay.report.text import listed, number, percent, seconds
from assay.stats.judged import Judged
from assay.stats.method_verdicts import MethodVerdict, VerdictCell, Verdicts, method_verdicts

if TYPE_CHECKING:
    from assay.engine.store.protocol import RunStore
    from assay.report.board import Board, Line

FAMILIES = {"symmetric_relevance_gain": "order", "sensitivity_n": "size"}  # the metrics that decide
UNFAMILIAR = "unfamiliar_share"
CONTENT_FREE = {"random_map", "random_shifted", "random_squared", "constant"}  # what chance stands for
OUTCOMES = ("passes", "behind", "depends", "undecided", "no better than chance", "not tested")
CANVASES = {
    "rows": "takes its values in 16 reference rows, whose answers are averaged (rows)",
    "row": "takes its value in a reference row drawn for the sample (row)",
    "mean": "takes the mean of the reference (mean)",
    "blur": "is blurred (blur)",
    "colour": "takes the mean colour of the reference (colour)",
    "zero": "becomes 0 (zero)",
    "true": "takes the background (true)",
    "uniform": "becomes noise (uniform)",
}
BASELINES = {
    "zero": "with 0",
    "mean": "with the mean of the reference",
    "uniform": "with noise",
    "true": "with the background",
}
UNLIKE = 0.2  # share of perturbed rows unlike the reference from which a warning is given
LIMITS = "Passing is necessary, not sufficient: it means that a method knows more about this model than chance does."


@dataclass(frozen=True)
class Answer:
    """The verdicts about all methods on a user's model."""

    environment: str
    verdicts: Verdicts
    notes: tuple[str, ...]  # about data and plan
    explained: str  # which number
    baseline: str | float  # what methods compare with
    unfamiliar: Mapping[str, float | None]  # by canvas: share of perturbed rows that are unlike the reference
    costs: Mapping[str, float]  # by method: CPU seconds for a row
    questions: Mapping[str, str]  # by method that answers another question than the metrics put
    untested: Mapping[str, str]  # by method that was skipped or failed: the reason

    def outcome(self, outcome: str) -> list[MethodVerdict]:
        """The methods with this outcome, those with the largest lead first."""
        found = [verdict for verdict in self.verdicts.methods if verdict.outcome == outcome]
        return sorted(found, key=_lead, reverse=True)

    def lines(self) -> tuple[str, ...]:
        """In words: the result, then what it rests on."""
        return (*self.results(), *self.ground())

    def results(self) -> Iterator[str]:
        """Which methods pass and which do not, and what that means."""
        passing = self.outcome("passes")
        if passing:
            best = passing[0]
            yield (
                f"{listed([verdict.method for verdict in passing])} "
                f"{'pass' if len(passing) > 1 else 'passes'}: above chance in every test, and nowhere behind the best."
            )
            cheapest = min(passing, key=lambda verdict: self.costs.get(verdict.method, float("inf")))
            named = dict.fromkeys((best.method, cheapest.method))
            costs = [f"{seconds(self.costs[name])} by {name}" for name in named if name in self.costs]
            if costs:
                yield f"An explanation takes {listed(costs)} (CPU)."
        else:
            yield "No method passes."
        if self.outcome("depends") and (by_canvas := self._best_by_canvas()):
            yield f"Which method is best depends on what replaces a removed feature: {by_canvas}."
        for verdict in self.outcome("behind"):
            yield f"{verdict.method} is above chance and behind the best: {verdict.reason}."
        for verdict in self.outcome("depends"):
            yield f"{verdict.method} depends: {verdict.reason}."
        if chance := self.outcome("no better than chance"):
            names = [verdict.method for verdict in chance]
            yield f"{listed(names)} {'are' if len(names) > 1 else 'is'} no better than chance."
        for verdict in self.outcome("undecided"):
            yield f"{verdict.method} is undecided: {verdict.reason}."
        for verdict in self.outcome("not tested"):
            yield f"{verdict.method} was not tested: {self.untested.get(verdict.method, verdict.reason)}."
        yield LIMITS
        shares = [share for share in self.unfamiliar.values() if share is not None]
        if shares and min(shares) >= UNLIKE:
            share = percent(min(shares)) + (" or more" if len(set(self.unfamiliar.values())) > 1 else "")
            yield (
                f"Careful: under every canvas {share} of the perturbed rows are unlike the reference. Verdicts may be "
                "about how the model answers to such rows."
            )

    def _best_by_canvas(self) -> str:
        """The methods that are best under each canvas; empty where they are the same ones."""
        best: dict[str, dict[str, None]] = {}
        for verdict in self.verdicts.methods:
            for cell in verdict.cells:
                if cell.best:
                    best.setdefault(cell.canvas, {})[cell.best] = None
        texts = {canvas: listed(sorted(names)) for canvas, names in best.items()}
        return (
            "; ".join(f"{names} under {canvas}" for canvas, names in texts.items())
            if len(set(texts.values())) > 1
            else ""
        )

    def ground(self) -> Iterator[str]:
        """What was explained, compared and removed; what decides nothing."""
        compared = (
            BASELINES.get(self.baseline, f"with {self.baseline}")
            if isinstance(self.baseline, str)
            else f"with {self.baseline:g}"
        )
        yield f"Explained: the {self.explained}. Methods compare {compared}. " + " ".join(self.notes)
        for canvas, share in self.unfamiliar.items():
            unlike = "" if share is None else f": {percent(share)} of the perturbed rows are unlike the reference"
            yield f"A removed feature {CANVASES.get(canvas, f'becomes {canvas}')}{unlike}."
        yield from (f"{method} answers another question: {why}." for method, why in self.questions.items())
        for verdict in self.verdicts.methods:
            for reason in dict.fromkeys(cell.circular for cell in verdict.cells if cell.circular):
                places = listed([cell.place for cell in verdict.cells if cell.circular == reason])
                yield f"{verdict.method} in {places} decides nothing: {reason}."
        left_out = self.verdicts.controls_left_out
        yield from (f"Control left out: {sentence}." for sentence in left_out)

    def table(self) -> Table:
        """Methods down; verdict, then the lead over chance by family and canvas, and the cost of an explanation."""
        places = list(dict.fromkeys(cell.place for verdict in self.verdicts.methods for cell in verdict.cells))
        columns = ("method", "verdict", *places, "CPU a row")
        return Table(columns, tuple(self._rows(places)), "Verdicts", self._table_notes(), text=2, kept=2)

    def _rows(self, places: Sequence[str]) -> Iterator[Row]:
        for outcome in OUTCOMES:
            for verdict in self.outcome(outcome):
                cells = {cell.place: cell for cell in verdict.cells}
                cost = self.costs.get(verdict.method)
                yield (
                    verdict.method,
                    outcome,
                    *(Cell(_cell_text(cells.get(place))) for place in places),
                    "" if cost is None else seconds(cost),
                )

    def _table_notes(self) -> tuple[str, ...]:
        tests = self.verdicts.counts.tests
        return (
            "order: symmetric relevance gain; size: Sensitivity-N; chance is 0 in both; 95 % intervals over rows",
            f"{self.verdicts.rows} rows; signed-rank tests against {listed(list(self.verdicts.controls))}, Holm over "
            f"{tests} tests; c: circular, decides nothing",
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "lines": list(self.lines()),
            "outcomes": {verdict.method: verdict.outcome for verdict in self.verdicts.methods},
            "explained": self.explained,
            "baseline": self.baseline,
            "unfamiliar": dict(self.unfamiliar),
            "costs": dict(self.costs),
            "other_questions": dict(self.questions),
            "notes": list(self.notes),
            "verdicts": self.verdicts.to_json(),
        }


def _lead(verdict: MethodVerdict) -> float:
    means = [cell.mean / cell.best_mean for cell in verdict.cells if cell.mean is not None and cell.best_mean]
    return sum(means) / len(means) if means else float("-inf")


def _cell_text(cell: VerdictCell | None) -> str:
    if cell is None or cell.mean is None:
        return "undefined"
    lead = cell.leads[0]
    interval = "" if lead.low is None or lead.high is None else f" [{number(lead.low)}, {number(lead.high)}]"
    return f"{number(cell.mean)}{interval}{' c' if cell.circular else ''}"


def board_answer(
    run: Record, store: RunStore, board: Board, records: Mapping[str, Record], notes: Sequence[str] = ()
) -> Answer | None:
    """The answer of a board; None where no metric of it decides, or no method answered."""
    cells = judged(run, store, board, records)
    question = _question(run, board, records)
    if not cells or question is None:
        return None
    methods, metrics = by_label(run, "methods"), by_label(run, "metrics")
    lines = {line.method: line for line in board.lines}
    tested = list(dict.fromkeys(cell.method for cell in cells))
    canvases = dict.fromkeys(cell.canvas for cell in cells)
    return Answer(
        board.environment,
        method_verdicts(cells, [label for label in tested if methods[label].control]),
        tuple(notes),
        _explained(question),
        question["baseline"],
        {canvas: _unfamiliar(canvas, metrics, board) for canvas in canvases},
        _costs(run, board.environment, lines, records),
        {label: why for label in tested if (why := other_question(methods[label].spec))},
        {label: reason for label in tested if (reason := _why_untested(lines[label], metrics))},
    )


def judged(run: Record, store: RunStore, board: Board, records: Mapping[str, Record]) -> list[Judged]:
    """What verdicts rest on: each method, but for maps that are chance itself, by each metric that decides."""
    methods, question = by_label(run, "methods"), _question(run, board, records) or {}
    metrics = {label: metric for label, metric in by_label(run, "metrics").items() if label in board.metrics}
    return [
        Judged(
            line.method,
            FAMILIES[metric.spec.name],
            str(metric.spec.get("canvas")),
            sample_values(run, store, board.environment, (line.method, label), records),
            circular(methods[line.method].spec, question.get("baseline", ""), metric.spec),
        )
        for line in board.lines
        if methods[line.method].spec.name not in CONTENT_FREE
        for label, metric in metrics.items()
        if metric.spec.name in FAMILIES
    ]


def _question(run: Record, board: Board, records: Mapping[str, Record]) -> Mapping[str, Any] | None:
    """What the methods were asked; None where none answered."""
    trials = (_first_trial(run, board.environment, line.method, records) for line in board.lines)
    return next((trial["question"] for trial in trials if trial), None)


def _first_trial(run: Record, environment: str, method: str, records: Mapping[str, Record]) -> Mapping[str, Any]:
    for series in series_of(run, environment, method):
        for block in series["blocks"]:
            record = records.get(block["trial"])
            if record is not None and record.status == "ok":
                return record.data
    return {}


def _explained(question: Mapping[str, Any]) -> str:
    of = {"predicted": " of the predicted class", "label": " of the class that was asked for"}
    readout = str(question["readout"])
    return readout + ("" if readout == "value" else of.get(str(question["target"]), ""))


def _why_untested(line: Line, metrics: Mapping[str, Component]) -> str:
    """Why a method has no value by a metric that decides; empty where it has them all."""
    cells = (cell for label, cell in line.cells.items() if metrics[label].spec.name in FAMILIES)
    return next((cell.reason for cell in cells if cell.reason), "")


def _unfamiliar(canvas: str, metrics: Mapping[str, Component], board: Board) -> float | None:
    """The share of perturbed rows that are unlike the reference: the same by all methods."""
    for label in board.metrics:
        if metrics[label].spec.name == UNFAMILIAR and str(metrics[label].spec.get("canvas")) == canvas:
            values = (line.cells[label].value for line in board.lines)
            return next((value for value in values if value is not None), None)
    return None


def _costs(
    run: Record, environment: str, methods: Mapping[str, Any], records: Mapping[str, Record]
) -> dict[str, float]:
    """CPU seconds for one row, over all blocks but the first, which may include the work that a process does once."""
    costs = {}
    for method in methods:
        keys = [block["trial"] for series in series_of(run, environment, method) for block in series["blocks"]]
        blocks = [record for key in keys if (record := records.get(key)) is not None and "cpu" in record.cost]
        warm = [record for record in blocks if not record.origin.get("first")] or blocks
        rows = sum(record.data["block"][1] - record.data["block"][0] for record in warm)
        if rows:
            costs[method] = sum(float(record.cost["cpu"]) for record in warm) / rows
    return costs
