"""Numbers of kept results: cells, paired differences over seeds, and the tables that all documents share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import factorial, prod
from statistics import mean
from typing import Any

from assay.report.table import piped
from assay.studies.shipped import find
from assay.studies.study import Entry, Study

from pages import Json, Table, head, kept

Cell = Mapping[str, Any]
Values = Sequence[float | None]  # by seed
Writer = Callable[[Cell], str]

CONTROLS = ("Random", "Constant")
DIFFERENCE = re.compile(r"^[+-][\d.]+ \[([+-][\d.]+), ([+-][\d.]+)\]")  # as Difference writes it
OWN_NUMBER = {  # what a method explains that is asked nothing else
    "beside": "logit",
    "calibrated": "logit",
    "cifar": "logit",
    "color_count": "probability",
    "in_domain": "logit",
    "linear": "logit",
    "pixel_count": "value",
    "pixel_modulo": "value",
    "public_table": "logit",
    "spurious_retrain": "logit",
    "tabular_rule": "logit",
    "token_count": "probability",
    "two_objects": "margin",
    "watermark": "logit",
}


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

    @property
    def half(self) -> float:
        """Half of the 95 % interval of the mean (Student's t); three values or more."""
        from scipy import stats

        return float(stats.t.ppf(0.975, len(self.values) - 1) * stats.sem(self.values))

    @property
    def is_below(self) -> bool:
        """Whether the interval lies below 0."""
        return len(self.values) > 2 and mean(self.values) + self.half < -1e-9

    def __str__(self) -> str:
        """Mean difference with its 95 % interval, and in how many seeds it is positive."""
        positive = sum(value > 0 for value in self.values)
        seeds = f"> 0 in {positive} of {len(self.values)} seeds"
        if not self.values:
            return "no seed has both"
        if len(self.values) < 3:
            return f"{mean(self.values):+.3f} (no interval), {seeds}"
        middle = mean(self.values)
        return f"{middle:+.3f} [{middle - self.half:+.3f}, {middle + self.half:+.3f}], {seeds}"


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


def curve_tables(name: str, metrics: Sequence[str]) -> Iterator[str]:
    """Score over the varied parameter."""
    sweep = kept(name)["sweep"]
    curves: dict[tuple[str, str], list[Json]] = {}
    for curve in sweep["curves"]:
        if curve["metric"] in metrics:
            curves.setdefault((curve["environment"], curve["metric"]), []).append(curve)
    for (environment, metric), found in curves.items():
        yield f"*{metric}*, {environment}, over {sweep['label']}:"
        yield ""
        yield from head("method", *map(value_text, sweep["values"]), right=1)
        for curve in found:
            points = curve["points"] if curve["varied"] else curve["points"][:1]
            cells = [with_interval(point) for point in points]
            yield piped(curve["method"], *cells, *("" for _ in sweep["values"][len(cells) :]))
        yield ""


def value_text(value: Json) -> str:
    return " to ".join(f"{part:g}" for part in value) if isinstance(value, list) else f"{value:g}"


def near_controls(board: Json, metric: str, methods: Sequence[str]) -> list[str]:
    """The methods whose interval overlaps a control's; a score without an interval is its value."""

    def ends(method: str) -> tuple[float, float] | None:
        found = cell(board, method, metric) if method in board["methods"] else {}
        value = found.get("value")
        return None if value is None else (found.get("low", value), found.get("high", value))

    controls = [found for found in map(ends, CONTROLS) if found]
    near = [
        method
        for method in methods
        if (own := ends(method)) and any(own[0] <= high and low <= own[1] for low, high in controls)
    ]
    return [method for method in near if method not in CONTROLS]


def compared(numbers: Sequence[str]) -> str:
    """How many intervals of differences a table of claims shows, and how many exclude 0."""
    limits = [found.groups() for number in numbers if (found := DIFFERENCE.search(number))]
    apart = sum(float(low) > 0 or float(high) < 0 for low, high in limits)
    return (
        f"{len(numbers)} rows; {len(limits)} of them are paired differences with an interval, of which {apart} exclude 0."
        f" Each interval is of one difference alone, with no correction for their number: if no difference were real, "
        f"about {len(limits) / 20:.0f} would exclude 0 by chance."
    )


def readouts(names: Sequence[str]) -> Table:
    """Which number the methods of each study explain; studies of which the same holds share a row."""

    def write() -> Iterator[str]:
        yield from head("studies", "methods explain", "but")
        rows: dict[tuple[str, str], list[str]] = {}
        for name in names:
            study = find(name)
            own = dict.fromkeys(_own(study, place) for place in study.environments)
            own = own if len(own) > 1 else [told.partition(" (")[0] for told in own]
            rows.setdefault((" / ".join(own), _exceptions(study)), []).append(f"`{name.partition('/')[2]}`")
        for (own, exceptions), studies in rows.items():
            yield piped(", ".join(studies), own, exceptions)

    return write


def _own(study: Study, place: Entry) -> str:
    asked = {entry.question.readout for entry in study.methods}
    if len(asked) == 1 and None not in asked:  # the study asks it of all
        return f"the {asked.pop()}"
    model = dict(place.spec.params).get("model")
    kind = "probability" if model == "forest" else OWN_NUMBER[place.spec.name]
    return f"the {kind} ({model})" if model else f"the {kind}"


def _exceptions(study: Study) -> str:
    asked = {entry.question.readout for entry in study.methods}
    if len(asked) == 1:
        return ""
    by_readout: dict[str, list[str]] = {}
    for entry in study.methods:
        if entry.question.readout:
            label = entry.label.split(f", {study.sweep.parameter}=")[0] if study.sweep else entry.label
            by_readout.setdefault(entry.question.readout, []).append(label)
    return "; ".join(f"{', '.join(dict.fromkeys(labels))}: the {kind}" for kind, labels in by_readout.items())
