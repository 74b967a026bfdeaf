"""Numbers of kept results: cells, paired differences over seeds, and the tables that all documents share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import factorial, prod
from statistics import mean
from typing import Any

from assay.report.table import piped

from pages import Json, Table, head, kept

Cell = Mapping[str, Any]
Values = Sequence[float | None]  # by seed
Writer = Callable[[Cell], str]


def boards(name: str) -> dict[str, Json]:
    """By environment; none of a sweep, which keeps its curves."""
    return {board["environment"]: board for board in kept(name).get("boards", ())}


def cell(board: Json, method: str, metric: str) -> Cell:
    return board["methods"][method]["metrics"][metric]


def per_seed(board: Json, method: str, metric: str) -> Values:
    return cell(board, method, metric).get("per_seed", ())


@dataclass(frozen=True)
class Difference:
    """Of two numbers that every seed has: the differences of all seeds that have both."""

    values: tuple[float, ...]

    @classmethod
    def of(cls, left: Values, right: Values) -> Difference:
        pairs = zip(left, right, strict=True) if left and right else ()  # no seeds: undefined in all of them
        return cls(tuple(a - b for a, b in pairs if a is not None and b is not None))

    @property
    def bootstraps(self) -> float:
        """The share of all resamples of the seeds whose mean is above 0."""
        count, above = len(self.values), 0
        for drawn in combinations_with_replacement(range(count), count):
            if sum(self.values[index] for index in drawn) > 1e-9:
                above += factorial(count) // prod(map(factorial, Counter(drawn).values()))
        return above / count**count

    def __str__(self) -> str:
        """Mean difference with its 95 % interval (Student's t), and in how many seeds it is positive."""
        positive = sum(value > 0 for value in self.values)
        seeds = f"> 0 in {positive} of {len(self.values)} seeds"
        if not self.values:
            return "no seed has both"
        if len(self.values) < 3:
            return f"{mean(self.values):+.3f} (no interval), {seeds}"
        from scipy import stats

        half = stats.t.ppf(0.975, len(self.values) - 1) * stats.sem(self.values)
        middle = mean(self.values)
        return f"{middle:+.3f} [{middle - half:+.3f}, {middle + half:+.3f}], {seeds}"


def paired(board: Json, left: str, right: str, metric: str) -> str:
    """One method minus another."""
    return str(Difference.of(per_seed(board, left, metric), per_seed(board, right, metric)))


def asked_methods(agreement: Json) -> frozenset[str]:
    """Those that a study compares, also where one of them has no score."""
    return frozenset((*agreement["methods"], *agreement.get("left_out", ())))


def with_deviation(found: Cell) -> str:
    if found.get("value") is None:
        return _absent(found)
    return f"{found['value']:.3f}" + (f" ± {found['deviation']:.3f}" if found.get("deviation") else "")


def with_interval(found: Cell) -> str:
    if found.get("value") is None:
        return _absent(found)
    interval = "" if found.get("low") is None else f" [{found['low']:.3f}, {found['high']:.3f}]"
    return f"{found['value']:.3f}{interval}"


def _absent(found: Cell) -> str:
    return "undefined" if found.get("status", "ok") == "ok" else str(found["status"])


def gap_text(board: Json, method: str) -> str:
    """The completeness gap: how far a map's sum is from what the method promises."""
    gap = board["methods"][method]["gap"]
    return "" if gap is None else f"{gap:.1%}"


def method_table(
    board: Json, metrics: Sequence[str], written: Writer = with_deviation, gaps: bool = False
) -> Iterator[str]:
    """Methods down, metrics across; below it, methods that do not apply, with the reason."""
    reasons: dict[str, list[str]] = {}
    yield from head("method", *(["gap"] if gaps else []), *metrics, right=1)
    for method in board["methods"]:
        cells = [cell(board, method, metric) for metric in metrics]
        if all(found["status"] == "skipped" for found in cells):
            reasons.setdefault(cells[0]["reason"], []).append(method)
        else:
            yield piped(method, *([gap_text(board, method)] if gaps else []), *map(written, cells))
    if reasons:
        yield ""
        yield "Skipped: " + "; ".join(f"{', '.join(methods)} ({reason})" for reason, methods in reasons.items()) + "."


def boards_of(name: str, metrics: Sequence[str], written: Writer = with_deviation) -> Table:
    def write() -> Iterator[str]:
        for environment, board in boards(name).items():
            yield f"**{environment}**"
            yield ""
            yield from method_table(board, metrics, written)
            yield ""

    return write
