"""How often verdicts on methods err: ``python -m benchmarks.verdict_errors`` prints the tables.

Eight methods, two families, two canvases. Four methods are null: their values are symmetric around 0 in every row.
Three are equally good, with a mean of ``LEAD`` standard deviations, and one has half of that. Values of one method in
one row are correlated over the four cells. ``--example`` prints verdicts on invented methods.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from assay.stats.holm import SIGNIFICANCE, holm, units_needed
from assay.stats.judged import Judged
from assay.stats.method_verdicts import NEGLIGIBLE, MethodVerdict, Verdicts, method_verdicts
from benchmarks.tables import Row, show

ROWS = (8, 12, 20, 50, 100, 200)
LEAD = 1.0
SHARED = 0.5  # correlation of a method's noise in one row over its four cells
EFFECT = 0.3  # standard deviation of what a method scores in all rows alike, where rows are not independent
REPLICATIONS = 400
NULLS = ("null 1", "null 2", "null 3", "null 4")
GOOD = ("good 1", "good 2", "good 3")
HALF = "half as good"
PLACES = tuple((family, canvas) for family in ("order", "size") for canvas in ("blur", "zero"))

Numbers = npt.NDArray[np.float64]
Noise = Callable[[np.random.Generator, tuple[int, ...]], Numbers]


def _normal(random: np.random.Generator, shape: tuple[int, ...]) -> Numbers:
    return random.normal(size=shape)


def _heavy(random: np.random.Generator, shape: tuple[int, ...]) -> Numbers:
    """Student's t with 3 degrees of freedom, standard deviation 1."""
    return np.asarray(random.standard_t(3, size=shape) / np.sqrt(3))


def _two_sizes(random: np.random.Generator, shape: tuple[int, ...]) -> Numbers:
    """Most rows say little, every fifth says much; standard deviation 1."""
    scale = np.where(random.random(shape) < 0.2, 2.2, 0.2)
    return np.asarray(random.normal(size=shape) * scale)


NOISES: dict[str, Noise] = {"normal": _normal, "heavy tails": _heavy, "every fifth row": _two_sizes}


@dataclass(frozen=True)
class Draw:
    """How values are drawn."""

    rows: int
    noise: Noise = _normal
    lead: float = LEAD
    null_mean: float = 0.0  # of methods that are called null: their true lead, if it is not quite 0
    nulls_only: bool = False  # all eight methods are null
    effect: float = 0.0  # standard deviation of a null method's mean: rows are not independent
    control: bool = False  # a control has the same effect as all nulls

    def judged(self, random: np.random.Generator) -> list[Judged]:
        common = random.normal()
        means = {**dict.fromkeys(NULLS, 0.0), **dict.fromkeys(GOOD, self.lead), HALF: self.lead / 2}
        cells = []
        for method, mean in {**means, **({"edges": 0.0} if self.control else {})}.items():
            null = self.nulls_only or mean == 0
            shift = self.null_mean + self.effect * (common if self.control else random.normal()) if null else mean
            row, own = self.noise(random, (self.rows,)), self.noise(random, (len(PLACES), self.rows))
            values = shift + np.sqrt(SHARED) * row + np.sqrt(1 - SHARED) * own
            cells += [Judged(method, *place, cell.tolist()) for place, cell in zip(PLACES, values, strict=True)]
        return cells

    def verdicts(self, replication: int) -> Verdicts:
        random = np.random.default_rng([self.rows, int(self.nulls_only), replication])
        return method_verdicts(self.judged(random), ["edges"] if self.control else [])


def share(hits: Sequence[bool]) -> str:
    """A share with Clopper and Pearson's interval."""
    count, trials = sum(hits), len(hits)
    low = scipy.special.betaincinv(count, trials - count + 1, 0.025) if count else 0.0
    high = scipy.special.betaincinv(count + 1, trials - count, 0.975) if count < trials else 1.0
    return f"{count / trials:.3f} [{low:.3f}, {high:.3f}]"


def _of(verdicts: Verdicts, names: Sequence[str]) -> list[MethodVerdict]:
    return [verdicts[name] for name in names]


def _above(verdict: MethodVerdict) -> bool:
    return verdict.outcome in ("passes", "behind", "depends")


def _separated(verdict: MethodVerdict) -> bool:
    return any(cell.separated for cell in verdict.cells)


def rates(draw: Draw, replications: int = REPLICATIONS) -> Row:
    """Shares of replications in which something happens to one method at least, or to a given one."""
    found = [draw.verdicts(replication) for replication in range(replications)]
    nulls = [_of(verdicts, NULLS) for verdicts in found]
    good = [_of(verdicts, GOOD) for verdicts in found]
    return {
        "a null passes": share([any(one.outcome == "passes" for one in every) for every in nulls]),
        "a null is above": share([any(map(_above, every)) for every in nulls]),
        "a good one is separated": share([any(_separated(one) for one in every) for every in good]),
        "good: no better than chance": share([every[0].outcome == "no better than chance" for every in good]),
        "good 1 passes": share([every[0].outcome == "passes" for every in good]),
        "half as good: passes": share([verdicts[HALF].outcome == "passes" for verdicts in found]),
        "half as good: behind": share([verdicts[HALF].outcome == "behind" for verdicts in found]),
        "null 1: no better than chance": share([every[0].outcome == "no better than chance" for every in nulls]),
    }


def table(replications: int = REPLICATIONS) -> Iterator[Row]:
    """Error rates where rows are independent."""
    for name, noise in NOISES.items():
        for rows in ROWS:
            yield {"noise": name, "rows": rows, **rates(Draw(rows, noise), replications)}


def nulls_table(replications: int = REPLICATIONS) -> Iterator[Row]:
    """How often one of eight nulls passes, is behind or depends, with independent rows and with a shared effect."""
    for rows in ROWS:
        draws = {
            "independent rows": Draw(rows, nulls_only=True),
            "an effect in all rows": Draw(rows, nulls_only=True, effect=EFFECT),
            "the same, and a control has it": Draw(rows, nulls_only=True, effect=EFFECT, control=True),
        }
        passing = {name: _found_above(draw, replications) for name, draw in draws.items()}
        yield {"rows": rows, **passing}


def leads_table(replications: int = REPLICATIONS // 2) -> Iterator[Row]:
    """What is found by the lead of good methods, in standard deviations of their values over rows."""
    for lead in (1.0, 2.0, 4.0):
        for rows in (20, 50, 100, 200, 400):
            found = [Draw(rows, lead=lead).verdicts(replication) for replication in range(replications)]
            slight = Draw(rows, lead=lead, null_mean=NEGLIGIBLE * lead)
            slights = [slight.verdicts(replication)[NULLS[0]].outcome for replication in range(replications)]
            yield {
                "lead": lead,
                "rows": rows,
                "good 1 passes": share([verdicts[GOOD[0]].outcome == "passes" for verdicts in found]),
                "half as good: behind": share([verdicts[HALF].outcome == "behind" for verdicts in found]),
                "null 1: no better than chance": share(
                    [verdicts[NULLS[0]].outcome == "no better than chance" for verdicts in found]
                ),
                "a tenth as good: no better than chance": share([one == "no better than chance" for one in slights]),
                "null 1: separated everywhere": share(
                    [all(cell.separated for cell in verdicts[NULLS[0]].cells) for verdicts in found]
                ),
            }


def _found_above(draw: Draw, replications: int) -> str:
    found = (draw.verdicts(replication).methods for replication in range(replications))
    return share([any(map(_above, methods)) for methods in found])


def choice_table(replications: int = REPLICATIONS) -> Iterator[Row]:
    """How often one of eight equal methods is separated below the best, corrected for all pairs and for fewer."""
    for rows in (20, 50, 200):
        found = [Draw(rows, nulls_only=True).verdicts(replication).methods for replication in range(replications)]
        p = [[cell.p_behind for one in methods for cell in one.cells if cell.p_behind is not None] for methods in found]
        yield {
            "rows": rows,
            "all ordered pairs": share([any(map(_separated, methods)) for methods in found]),
            "only comparisons with the best": share([min(holm(values)) <= SIGNIFICANCE for values in p]),
        }


def chance_table(models: int = 200, features: int = 16, size: int = 4) -> Iterator[Row]:
    """The correlation of a shuffled map with the drops, averaged over all its shuffles. One value of the map is 1, the
    others are 0: as far from symmetric as can be."""
    for sets in (50, 100, 400):
        random = np.random.default_rng(sets)
        means = [_shuffled_mean(random, features, size, sets) for _ in range(models)]
        yield {"sets": sets, "mean over models": f"{np.mean(means):.4f}", "largest": f"{np.max(np.abs(means)):.4f}"}


def _shuffled_mean(random: np.random.Generator, features: int, size: int, sets: int) -> float:
    """Drops have skewed effects that multiply."""
    chosen = np.array([random.permutation(features) < size for _ in range(sets)])
    drops = np.exp(chosen @ (0.3 * random.lognormal(size=features)))
    return float(np.mean([np.corrcoef(chosen[:, feature], drops)[0, 1] for feature in range(features)]))


def fewest_table() -> Iterator[Row]:
    """By number of methods: the fewest rows with which anything can be above chance, and separated below the best."""
    for methods in (2, 5, 8, 12, 20, 30):
        pairs = methods * (methods - 1) * len(PLACES)
        needed = {"rows to pass": units_needed(2 * methods, sides=1), "rows to be behind": units_needed(pairs, sides=1)}
        yield {"methods": methods, "tests": 2 * methods, "pairs": pairs, **needed}


def example(rows: int = 60) -> Iterator[Row]:
    """Verdicts on invented methods, one of each kind, with a control."""
    random, cells = np.random.default_rng(4), []
    means = {"good": (0.4, 0.4), "half": (0.2, 0.2), "order only": (0.4, 0.0), "null": (0.0, 0.0), "edges": (0.05, 0.0)}
    for method, by_family in {**means, "noisy": (0.06, 0.06), "fits size": (0.4, 0.9)}.items():
        spread = 0.3 if method == "noisy" else 0.12
        for family, canvas in PLACES:
            values = random.normal(by_family[family == "size"], spread, rows).tolist()
            circular = "it minimises this error" if (method, family) == ("fits size", "size") else ""
            cells.append(Judged(method, family, canvas, values, circular))
    for verdict in method_verdicts(cells, ["edges"]).methods:
        yield {"method": verdict.method, "verdict": verdict.outcome, "reason": verdict.reason}


def main(arguments: Sequence[str]) -> None:
    if "--example" in arguments:
        show(arguments, (example(), 3))
    else:
        counts = (fewest_table(), chance_table(), choice_table(), leads_table(), nulls_table())
        show(arguments, *((rows, 0) for rows in counts), (table(), 1))


if __name__ == "__main__":
    main(sys.argv[1:])
