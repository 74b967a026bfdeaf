"""What can be said about each attribution method on a user's own model, where no truth is known.

A method is judged in cells: by a family (``order``: symmetric relevance gain, ``size``: Sensitivity-N; higher is better
in both) under a canvas (what replaced removed features). A cell decides for a method if it has a value there and is not
circular: circular is a metric that asks what the method already optimised. Random maps have mean 0 in both families, so
**chance** is 0 in every row. The other controls are methods that know nothing about the model, such as edges. A method
is held against each of them, row by row. ``docs/verdicts.md`` explains the rules and says how often they err.

Tests are one-sided signed-rank tests over rows, with Holm's correction at ``ALPHA``.

- **Above**: one p for each method and family, the largest over canvases and controls: the method must be above every
  control under every canvas. Corrected over methods x families. Controls get no verdict and are not counted.
- **Above in a cell**: the largest p over controls, corrected over methods x families x canvases.
- **Best** of a cell: the method with the highest mean that decides there on enough rows. **Separated below the best**:
  the best's values exceed the method's by more than ``NEGLIGIBLE`` of its lead over chance. Without this margin, enough
  rows would leave one method in front, however little the others are behind. Corrected over all ordered pairs of
  methods, families and canvases, since any method might have come out best: without this, methods that are equally good
  are separated three times too often.
- **No better than chance in a cell**: the upper limit of the method's mean lead over some control is below
  ``NEGLIGIBLE`` times the best's lead over chance. If no method is above chance on average, the cell cannot show it.

The first that holds is the outcome:

1. **not tested**: no cell decides.
2. **passes**: above in every family that decides, and nowhere separated below the best.
3. **behind**: above in every family that decides, and separated below the best in every cell.
4. **no better than chance**: in every cell that decides.
5. **depends**: above in one cell and not separated below the best there; in another cell separated below the best or no
   better than chance.
6. **undecided**, with the number of rows that would decide if means and deviations stayed as they are.

With too few rows for any test to be significant, 2^-rows x tests > ``ALPHA``, every method that is tested is undecided:
none is above, none has enough rows to be the best, and nothing is said to be no better than chance.

Passing is necessary, not sufficient. Rows count as independent.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import permutations
from typing import Any, Literal

from assay.core.errors import AssayError
from assay.stats import verdict_reasons as reasons
from assay.stats.holm import SIGNIFICANCE, holm, units_needed
from assay.stats.judged import CHANCE, Judged, Lead, Place, Table, lead
from assay.stats.rows_needed import rows_needed, times_for_limit, times_for_significance

ALPHA = SIGNIFICANCE  # of all tests of a kind together
NEGLIGIBLE = 0.1  # of the best method's lead over chance
FEWEST_PER_CLASS = 12  # rows of a class that gets verdicts of its own

Outcome = Literal["passes", "behind", "no better than chance", "depends", "undecided", "not tested"]
State = Literal["above", "behind", "no better than chance", "below the best", "open", "circular", "undefined"]
LOST: tuple[State, ...] = ("behind", "no better than chance", "below the best")


@dataclass(frozen=True)
class VerdictCell:
    """One method by one family under one canvas. A probability is None where nothing was tested."""

    family: str
    canvas: str
    rows: int  # with a value
    mean: float | None
    leads: tuple[Lead, ...]  # over chance first, which is the mean; none without a value
    circular: str = ""
    best: str = ""  # the best method here
    best_mean: float | None = None
    behind_by: float | None = None  # mean of best minus method
    p: float | None = None  # above all controls
    p_holm: float | None = None
    p_behind: float | None = None  # below the best by more than the margin
    p_behind_holm: float | None = None
    no_better_than: tuple[str, ...] = ()  # controls over which the lead is negligible
    state: State = "open"

    @property
    def margin(self) -> float:
        """A smaller lead is negligible; minus infinity where no method is above chance: no lead is."""
        return NEGLIGIBLE * self.best_mean if self.best_mean is not None and self.best_mean > 0 else -math.inf

    @property
    def decides(self) -> bool:
        return self.p is not None

    @property
    def separated(self) -> bool:
        """Below the best."""
        return self.p_behind_holm is not None and self.p_behind_holm <= ALPHA

    @property
    def place(self) -> str:
        return f"{self.family} under {self.canvas}"


@dataclass(frozen=True)
class MethodVerdict:
    """What is said about one method."""

    method: str
    outcome: Outcome
    reason: str
    p_holm: Mapping[str, float]  # by family that decides
    rows: int  # the fewest of a cell that decides
    rows_needed: int | None  # of data, where undecided; None there if no number up to 100,000 would decide
    cells: tuple[VerdictCell, ...]


@dataclass(frozen=True)
class Counts:
    """What is corrected for, in all classes together."""

    tests: int  # methods x families
    cell_tests: int  # methods x families x canvases
    pairs: int  # of methods, ordered, x families x canvases
    fewest_rows: int  # with fewer no test is significant


@dataclass(frozen=True)
class Verdicts:
    """All methods but controls, by name."""

    methods: tuple[MethodVerdict, ...]
    best: Mapping[str, str]  # method, by "order under zero"
    controls: tuple[str, ...]  # chance first
    controls_left_out: tuple[str, ...]  # with the place and the reason
    rows: int
    counts: Counts
    alpha: float = ALPHA

    def __getitem__(self, method: str) -> MethodVerdict:
        return next(verdict for verdict in self.methods if verdict.method == method)

    def to_json(self) -> dict[str, Any]:
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return plain


def method_verdicts(judged: Sequence[Judged], controls: Sequence[str] = ()) -> Verdicts:
    """A verdict for each method that is no control."""
    return _decided([Table.of(judged, controls)])[0]


def by_class(
    judged: Sequence[Judged], labels: Sequence[Hashable], controls: Sequence[str] = ()
) -> dict[Hashable, Verdicts]:
    """Verdicts within each class of ``FEWEST_PER_CLASS`` rows or more, corrected over these classes, too."""
    table = Table.of(judged, controls)
    if len(labels) != table.rows:
        raise AssayError(f"There are {len(labels)} labels for {table.rows} rows. Give one label for each row.")
    rows = {label: [row for row, other in enumerate(labels) if other == label] for label in dict.fromkeys(labels)}
    enough = {label: table.take(chosen) for label, chosen in rows.items() if len(chosen) >= FEWEST_PER_CLASS}
    return dict(zip(enough, _decided(list(enough.values())), strict=True))


@dataclass(frozen=True)
class _Case:
    """One method of a table: the rules."""

    method: str
    rows: int  # of data
    cells: tuple[VerdictCell, ...]
    p_holm: Mapping[str, float] = field(default_factory=dict)  # by family that decides

    @property
    def deciding(self) -> list[VerdictCell]:
        return [cell for cell in self.cells if cell.decides]

    @property
    def p(self) -> dict[str, float]:
        """By family that decides: above all controls under all canvases."""
        families = dict.fromkeys(cell.family for cell in self.deciding)
        return {name: max(cell.p or 0.0 for cell in self.deciding if cell.family == name) for name in families}

    @property
    def outcome(self) -> Outcome:
        cells = self.deciding
        above = all(p <= ALPHA for p in self.p_holm.values())
        if not cells:
            return "not tested"
        if above and not any(cell.separated for cell in cells):
            return "passes"
        if above and all(cell.separated for cell in cells):
            return "behind"
        if all(cell.no_better_than for cell in cells):
            return "no better than chance"
        if any(cell.state == "above" for cell in cells) and any(cell.state in LOST for cell in cells):
            return "depends"
        return "undecided"

    def rows_needed(self, counts: Counts) -> int | None:
        """By the shortest way: above in every family, no better than chance in every cell, or one of each."""
        cells, separated = self.deciding, [cell.separated for cell in self.deciding]
        above = [times_for_significance(cell.p or 0.0, counts.cell_tests) for cell in cells]
        negligible = [_times_for_no_better(cell, counts.fewest_rows) for cell in cells]
        lost = [0.0 if cell.state in LOST else times for cell, times in zip(cells, negligible, strict=True)]
        pairs = ((one, other) for one, other in permutations(range(len(cells)), 2) if cells[one].state not in LOST)
        times = [max(negligible), *(max(above[one], lost[other]) for one, other in pairs)]
        if all(separated) or not any(separated):
            times.append(max(times_for_significance(p, counts.tests) for p in self.p.values()))
        return rows_needed(self.rows, min(times))

    def verdict(self, counts: Counts) -> MethodVerdict:
        needed = self.rows_needed(counts) if self.outcome == "undecided" else None
        fewest = min((cell.rows for cell in self.deciding), default=0)
        circular = [cell for cell in self.cells if cell.circular and self.deciding]
        reason = self._reason(needed, counts) + reasons.not_counted(circular)
        return MethodVerdict(self.method, self.outcome, reason, self.p_holm, fewest, needed, self.cells)

    def _reason(self, needed: int | None, counts: Counts) -> str:
        cells, lost = self.deciding, [cell for cell in self.deciding if cell.state in LOST]
        match self.outcome:
            case "not tested":
                return reasons.not_tested(self.cells)
            case "passes":
                return reasons.passes(cells)
            case "behind":
                return reasons.behind(cells)
            case "no better than chance":
                return reasons.no_better(cells)
            case "depends":
                return reasons.depends([cell for cell in cells if cell.state == "above"], lost)
        if self.rows < counts.fewest_rows:
            return reasons.too_few_rows(self.rows, counts.tests, counts.fewest_rows)
        return reasons.undecided(self.p_holm, lost, needed)


def _times_for_no_better(cell: VerdictCell, fewest: int) -> float:
    """How many times the rows show that the lead over some control is negligible."""
    times = [times_for_limit(one.mean, one.upper, cell.margin) for one in cell.leads if one.upper is not None]
    return max(fewest / cell.rows, min(times, default=math.inf))


def _decided(tables: Sequence[Table]) -> list[Verdicts]:
    """The verdicts of each table, corrected for the tests of all of them."""
    tests = len({(index, name, place[0]) for index, table in enumerate(tables) for name, place in table.deciding})
    fewest = units_needed(tests, sides=1)
    cases = [
        [
            _Case(name, table.rows, tuple(_measured(table, name, place, fewest) for place in table.places(name)))
            for name in table.methods
        ]
        for table in tables
    ]
    cells = [cell for table_cases in cases for case in table_cases for cell in case.deciding]
    counts = Counts(tests, len(cells), sum(table.pairs(fewest) for table in tables), fewest)
    corrected = _corrected(cases, counts.pairs)
    return [
        Verdicts(
            tuple(case.verdict(counts) for case in table_cases),
            {f"{family} under {canvas}": table.best((family, canvas), fewest) for family, canvas in table.values},
            (CHANCE, *table.controls),
            tuple(table.left_out(fewest)),
            table.rows,
            counts,
        )
        for table, table_cases in zip(tables, corrected, strict=True)
    ]


def _measured(table: Table, method: str, place: Place, fewest: int) -> VerdictCell:
    """A cell before any correction."""
    leads, circular = table.leads(method, place, fewest), table.circular[method, place]
    mean = leads[0].mean if leads else None
    cell = VerdictCell(*place, table.count(method, place), mean, leads, circular)
    if circular or not leads:
        return replace(cell, state="circular" if circular else "undefined")
    cell, best, here = replace(cell, p=max(one.p for one in leads)), table.best(place, fewest), table.values[place]
    if not best:
        return cell
    cell = replace(cell, best=best, best_mean=table.mean(best, place))
    ahead = lead(here[best], here[method], method) if best != method else None
    tolerated = max(0.0, cell.margin)
    clearly = lead(here[best] - tolerated, here[method], method) if best != method else None
    negligible = (one.over for one in leads if one.upper is not None and one.upper < cell.margin)
    return replace(
        cell,
        no_better_than=tuple(negligible) if cell.rows >= fewest else (),
        behind_by=None if ahead is None else ahead.mean,
        p_behind=None if clearly is None else clearly.p,
    )


def _corrected(cases: Sequence[Sequence[_Case]], pairs: int) -> list[list[_Case]]:
    """Cases with Holm's corrections, each over all tables, and the states that follow."""
    flat = [case for table_cases in cases for case in table_cases]
    cells = [cell for case in flat for cell in case.deciding]
    family = iter(holm([p for case in flat for p in case.p.values()]))
    above = iter(holm([cell.p for cell in cells if cell.p is not None]))
    p_behind = [cell.p_behind for cell in cells if cell.p_behind is not None]
    behind = iter(holm([*p_behind, *[1.0] * (pairs - len(p_behind))]))  # of the other pairs no p is needed

    def cell_of(cell: VerdictCell) -> VerdictCell:
        if not cell.decides:
            return cell
        p_behind_holm = None if cell.p_behind is None else next(behind)
        cell = replace(cell, p_holm=next(above), p_behind_holm=p_behind_holm)
        return replace(cell, state=_state(cell))

    return [
        [
            replace(case, cells=tuple(map(cell_of, case.cells)), p_holm={name: next(family) for name in case.p})
            for case in table_cases
        ]
        for table_cases in cases
    ]


def _state(cell: VerdictCell) -> State:
    if cell.p_holm is not None and cell.p_holm <= ALPHA:
        return "behind" if cell.separated else "above"
    if cell.no_better_than:
        return "no better than chance"
    return "below the best" if cell.separated else "open"
