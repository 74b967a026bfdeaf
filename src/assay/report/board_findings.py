"""Findings about one board: who is first, which metrics contradict the truth, who is no better than a control.

Two methods differ where signed-rank tests separate them: paired, Holm over all pairs of methods that are no controls
(the letters on a board are over pairs with controls). With too few seeds for that, they differ where their intervals do
not overlap.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from assay.core.evidence import Score
from assay.engine.store.protocol import RunStore
from assay.report.comparisons import within_draw
from assay.report.components import Component, by_label
from assay.report.finding import Finding
from assay.report.text import counted, listed, number, verb
from assay.stats.comparison import Comparison
from assay.stats.holm import SIGNIFICANCE, holm, largest_family

if TYPE_CHECKING:
    from assay.report.board import Board, Line, Result

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
MATERIAL = 0.1  # (ours) share of a column's range by which two methods differ at least, to be said to change places
Separations: TypeAlias = frozenset[frozenset[str]]  # pairs of methods


class Scene(NamedTuple):
    """A board, with what decides whether two of its methods differ."""

    board: Board
    metrics: Mapping[str, Component]
    methods: Mapping[str, Component]
    separations: Mapping[str, Separations]  # by metric, where there are enough units for tests
    units: str  # that the tests are over

    @classmethod
    def of(cls, result: Result, board: Board, store: RunStore) -> Scene:
        metrics = {name: part for name, part in by_label(result.run, "metrics").items() if name in board.metrics}
        methods = by_label(result.run, "methods")
        comparisons = {**within_draw(result.run, store, board, result.records), **board.comparisons}
        separations = {name: _separations(comparison, methods) for name, comparison in comparisons.items()}
        units = next((counted(one.units, one.unit.removesuffix("s")) for one in comparisons.values()), "")
        known = {name: pairs for name, pairs in separations.items() if pairs is not None}
        return cls(board, metrics, methods, known, units)

    @property
    def lines(self) -> list[Line]:
        """Methods, without controls."""
        return [line for line in self.board.lines if not self.methods[line.method].control]

    @property
    def truth(self) -> str | None:
        """The first metric that compares with a known truth and ranks methods."""
        return next((name for name in self._ranking if _knows_truth(self.metrics[name])), None)

    @property
    def _ranking(self) -> list[str]:
        return [name for name, metric in self.metrics.items() if metric.ranks_methods]

    def ranked(self, metric: str, controls: bool = False) -> list[Score]:
        """The methods that have a value, best first."""
        lines = list(self.board.lines) if controls else self.lines
        cells = [line.cells[metric] for line in lines if line.cells[metric].rank is not None]
        return sorted(cells, key=lambda cell: cell.rank or 0.0)

    def separated(self, metric: str, better: str, worse: str) -> bool:
        """Whether the first is better than the second by more than chance."""
        left, right = (self._cell(metric, name) for name in (better, worse))
        if left.rank is None or right.rank is None or left.rank >= right.rank:
            return False
        if metric in self.separations:
            return frozenset((better, worse)) in self.separations[metric]
        ends = _limits(left), _limits(right)
        return ends[0] is not None and ends[1] is not None and (ends[0][0] > ends[1][1] or ends[0][1] < ends[1][0])

    def _cell(self, metric: str, method: str) -> Score:
        return next(line.cells[metric] for line in self.board.lines if line.method == method)

    def _tied_with_best(self, ranked: Sequence[Score], metric: str) -> list[str]:
        return [score.method for score in ranked[1:] if not self.separated(metric, ranked[0].method, score.method)]

    def best(self) -> Iterator[Finding]:
        """Who is first by the truth, or where none is known by the study's first metric."""
        metric = self.truth or next(iter(self._ranking), None)
        ranked = self.ranked(metric) if metric else []
        if not metric or len(ranked) < 2 or self.separated(metric, ranked[-1].method, ranked[0].method):
            return
        tied = self._tied_with_best(ranked, metric)
        if len(tied) == len(ranked) - 1:
            yield Finding(
                "best",
                f"In {self.board.environment}, {metric} separates no method from the best one, {ranked[0].method} "
                f"({_with_interval(ranked[0])}).",
                (ranked[0],),
            )
            return
        text = f"In {self.board.environment}, {ranked[0].method} is first by {metric}, {_with_interval(ranked[0])}"
        text += f"; {listed(tied)} {'is' if len(tied) == 1 else 'are'} not separated from it." if tied else "."
        yield Finding("best", text, (ranked[0], *(score for score in ranked if score.method in tied)))

    def against_truth(self) -> Iterator[Finding]:
        """Metrics without truth: the pair of methods that shows best that they put the truth's order upside down."""
        truth = self.truth
        judged = [name for name in self._ranking if not _knows_truth(self.metrics[name])]
        if truth is None or not judged:
            return
        pairs = {metric: self._reversal(metric, truth) for metric in judged}
        by_pair: dict[tuple[str, str], list[str]] = {}
        for metric, pair in pairs.items():
            if pair is not None:
                by_pair.setdefault(pair, []).append(metric)
        for (favoured, better), metrics in by_pair.items():
            yield self._reversed(truth, favoured, better, metrics)
        kept = [metric for metric, pair in pairs.items() if pair is None and self._agrees(metric, truth)]
        if kept:
            keep = f"{listed(kept)} {verb('keep', kept)} the order of the truth"
            yield Finding("kept", f"In {self.board.environment}, {keep} wherever both separate two methods.")

    def _reversal(self, metric: str, truth: str) -> tuple[str, str] | None:
        """The methods that the metric and the truth put in opposite orders, furthest apart in both."""
        found = [
            (contrast, left.method, right.method)
            for left in self.ranked(metric)
            for right in self.ranked(truth)
            if self.separated(metric, left.method, right.method)
            and self.separated(truth, right.method, left.method)
            and (contrast := min(self._contrast(name, left.method, right.method) for name in (metric, truth)))
            >= MATERIAL
        ]
        return max(found)[1:] if found else None

    def _contrast(self, metric: str, left: str, right: str) -> float:
        """The difference of two methods as a share of the range of all."""
        values = [score.value or 0.0 for score in self.ranked(metric, controls=True)]
        difference = (self._cell(metric, left).value or 0.0) - (self._cell(metric, right).value or 0.0)
        return abs(difference) / ((max(values) - min(values)) or 1.0)

    def _reversed(self, truth: str, favoured: str, better: str, metrics: Sequence[str]) -> Finding:
        values = [
            f"{metric} ({number(self._cell(metric, favoured).value or 0.0)} against "
            f"{number(self._cell(metric, better).value or 0.0)})"
            for metric in metrics
        ]
        ranked = [score.method for score in self.ranked(truth)]
        by_truth = [self._cell(truth, name) for name in (favoured, better)]
        text = (
            f"In {self.board.environment}, {listed(values)} {verb('put', metrics)} {favoured} before {better}. By the "
            f"truth {favoured} is {_ordinal(ranked.index(favoured))} ({truth} {number(by_truth[0].value or 0.0)}) and "
            f"{better} {_ordinal(ranked.index(better))} ({number(by_truth[1].value or 0.0)})."
        )
        scores = [self._cell(metric, name) for metric in metrics for name in (favoured, better)]
        return Finding("reversed", text, (*scores, *by_truth))

    def _agrees(self, metric: str, truth: str) -> bool:
        """Whether there is a pair that both separate: otherwise nothing can be said."""
        names = [score.method for score in self.ranked(metric)]
        return any(
            self.separated(metric, left, right) and self.separated(truth, left, right)
            for left in names
            for right in names
        )

    def controls(self) -> Iterator[Finding]:
        """Methods that are no better than a control by the truth, or where none is known by the first metric."""
        metric = self.truth or next(iter(self._ranking), None)
        if metric is None:
            return
        ranked = self.ranked(metric, controls=True)
        controls = [score for score in ranked if self.methods[score.method].control]
        if not controls:
            return
        best = controls[0]
        worse = [
            score
            for score in ranked
            if not self.methods[score.method].control and (score.rank or 0.0) >= (best.rank or 0.0)
        ]
        if worse:
            values = [f"{score.method} ({number(score.value or 0.0)})" for score in worse]
            text = f"By {metric}, {listed(values)} {'is' if len(worse) == 1 else 'are'} no better than the control "
            text += f"{best.method} ({number(best.value or 0.0)}) in {self.board.environment}."
            yield Finding("controls", text, (*worse, best))

    def inseparable(self) -> Iterator[Finding]:
        """The methods that cannot be told from the best one by the truth."""
        ranked = self.ranked(self.truth) if self.truth else []
        if self.truth is None or len(ranked) < 2 or self.truth not in self.separations:
            return
        tied = self._tied_with_best(ranked, self.truth)
        if tied and len(tied) < len(ranked) - 1:
            group = [ranked[0].method, *tied]
            text = f"{listed(group)} cannot be separated by {self.truth} in {self.board.environment} ({self.units})."
            yield Finding("inseparable", text, tuple(score for score in ranked if score.method in group))


def _separations(comparison: Comparison, methods: Mapping[str, Component]) -> Separations | None:
    """The pairs of methods, without controls, that differ by more than chance; None where no pair could."""
    pairs = [pair for pair in comparison.pairs if not any(methods[name].control for name in (pair.left, pair.right))]
    if not pairs or largest_family(comparison.units) < len(pairs):
        return None
    corrected = holm([pair.p for pair in pairs])
    sure = (pair for pair, p in zip(pairs, corrected, strict=True) if p <= SIGNIFICANCE)
    return frozenset(frozenset((pair.left, pair.right)) for pair in sure)


def _limits(score: Score) -> tuple[float, float] | None:
    """The interval; the value itself where it was the same everywhere."""
    if score.low is not None and score.high is not None:
        return score.low, score.high
    return (score.value, score.value) if score.basis == "equal" and score.value is not None else None


def _knows_truth(metric: Component) -> bool:
    return "truth" in (metric.card.fact("needs") or ())


def _with_interval(score: Score) -> str:
    interval = "" if score.low is None or score.high is None else f" [{number(score.low)}, {number(score.high)}]"
    return f"{number(score.value or 0.0)}{interval}"


def _ordinal(place: int) -> str:
    return ORDINALS[place] if place < len(ORDINALS) else f"number {place + 1}"
