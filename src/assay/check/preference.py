"""Is the exact attribution of a linear model judged as it deserves?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from torch import Tensor

from assay.check import maps
from assay.check.fault import Fault
from assay.check.judges import Answer
from assay.check.ladder_case import CLOSE, SEEDS, LadderCase, apart, asked_again, close
from assay.check.rungs import Rung, listed
from assay.core.errors import NotApplicable

TINY = 1e-5  # the least size of scores: where all are smaller, 1e-9 apart is no rounding
EACH = 12  # features of a map, up to which each is tried by itself


def exact_on_linear(case: LadderCase) -> Iterator[Fault]:
    """Exact attributions of a linear model reach the ideal, on every rung, for every sample, in every number."""
    ideal = case.promises.ideal
    if ideal is None:
        raise NotApplicable("declares no ideal that exact attributions reach: give --ideal VALUE")
    missed: dict[tuple[str, ...], tuple[Rung, Answer, int]] = {}  # the smallest with the same traits
    for rung in case.answered:
        answers = case.draws(rung, rung.exact)
        rows = [(answer, int(row)) for answer in answers for row in np.flatnonzero(_misses(answer, ideal))]
        if rows:
            missed.setdefault(rung.traits, (rung, *rows[0]))
    for traits in missed:
        if any(set(fewer) < set(traits) for fewer in missed):
            continue  # what rungs with fewer traits show needs no more
        smallest = next(found for shown, found in missed.items() if set(traits) <= set(shown))
        part, returned = _smallest(case, *smallest, ideal)
        message = f"does not reach {ideal:g} for exact attributions{''.join(traits)}"
        yield case.fault(exact_on_linear, message, part.told(part.exact, f"{returned} instead of {ideal:g}"))


def _smallest(case: LadderCase, rung: Rung, answer: Answer, row: int, ideal: float) -> tuple[Rung, Answer]:
    """The sample that misses the ideal, or as few samples as miss it together."""
    parts = [rung.rows([row])] if answer.each else []
    for part in (*parts, *(rung.rows(range(count)) for count in range(1, len(rung)))):
        for found in case.attempts(part, part.exact):
            if _misses(found, ideal).any():
                return part, found
    return rung, answer


def _misses(answer: Answer, ideal: float) -> npt.NDArray[np.bool_]:
    """Rows with a number that is not the ideal; NaN is another contract's business."""
    far = np.abs(answer.values - ideal) > close([ideal])
    return np.asarray(far.any(axis=1) & answer.defined)


@asked_again
def best_on_linear(case: LadderCase) -> Iterator[Fault]:
    """No other map of a linear model is better than the exact attribution: none that is wrong, random or reordered.

    Nor is a map as good whatever it says about one feature, where it matters what it says about most of the others.
    """
    if not case.promises.best:
        raise NotApplicable("does not say that exact attributions are best: give --best or --ideal VALUE")
    sign = case.direction
    for rung in case.answered:
        others = maps.others(rung.exact)
        plain, *answers = case.attempts_at(rung, [rung.exact, *others.values()])
        for (name, attribution), found in zip(others.items(), answers, strict=True):
            if found and (row := _better(found, plain, sign)) is not None:
                part, other, shown = _few(case, rung, attribution, row) or (rung, attribution, (plain[0], found[0]))
                told = f"{shown[0]}, and {shown[1]} for {name} {listed(other)}"
                yield case.fault(
                    best_on_linear, "likes another map better than the exact one", part.told(part.exact, told)
                )
                return
    yield from _overlooked(case)


def _few(case: LadderCase, rung: Rung, other: Tensor, row: int) -> tuple[Rung, Tensor, tuple[Answer, Answer]] | None:
    """The sample alone, or with those before it, where these few like another map better, too."""
    for rows in ([row], range(row + 1)):
        part, some = rung.rows(rows), other[list(rows)]
        plain, found = case.attempts_at(part, [part.exact, some])
        if plain and found and _better(found, plain, case.direction) is not None:
            return part, some, (plain[0], found[0])
    return None


def _overlooked(case: LadderCase) -> Iterator[Fault]:
    """A feature with an effect, whose attribution may be anything, though most others are seen: axioms see a few.

    It must be so on every rung of as many features, at the same place from the start or from the end, and in all draws:
    a metric that asks about few random sets may miss a feature once.
    """
    tried = [rung for rung in case.answered if len(rung) > 1 and rung.exact[0].numel() <= EACH]
    drawn = [[replace(rung, draw=SEEDS * place + seed) for seed in range(SEEDS)] for place, rung in enumerate(tried)]
    for draws in drawn:
        rung, count = draws[0], draws[0].exact[0].numel()
        acting = rung.exact.flatten(1).any(dim=0).nonzero().flatten().tolist()
        unseen = [feature for feature in acting if not _sees(case, draws[:1], feature)]
        if 2 * len(unseen) >= len(acting):
            continue
        alike = [others for others in drawn if others is not draws and others[0].exact[0].numel() >= count]
        for feature in (one for one in unseen if alike and not _sees(case, draws[1:], one)):
            if any(not any(_sees(case, one, place) for one in alike) for place in (feature, feature - count)):
                message = f"gives the same score whatever the attribution of feature {feature} (the first is 0)"
                yield case.fault(best_on_linear, message, rung.told(rung.exact, case.ask(rung, rung.exact)))
                return


def _sees(case: LadderCase, draws: Sequence[Rung], feature: int) -> bool:
    """True where some other number for a feature changes an answer, drawn alike; where it raises, that is seen, too."""
    for rung in draws:
        plain = case.ask(rung, rung.exact, seed=rung.draw)
        for attribution in maps.one_changed(rung.exact, feature):
            found = case.attempt(rung, attribution, rung.draw)
            if isinstance(found, Exception) or apart([plain], [found], False):
                return True
    return False


def _better(found: list[Answer], plain: list[Answer], sign: int) -> int | None:
    """The first row in which all of the one are better than all of the other."""
    one, other = (sign * np.stack([answer.means for answer in side]) for side in (found, plain))
    known = np.stack([answer.defined for answer in (*found, *plain)]).all(axis=0)
    rows = np.flatnonzero(known & (one.min(axis=0) > other.max(axis=0) + close(other)))
    return int(rows[0]) if len(rows) else None


@asked_again
def direction_on_linear(case: LadderCase) -> Iterator[Fault]:
    """Exact attributions beat random ones and these beat wrong ones in the declared direction; they are told apart.

    Wrong is the negated map or sizes in reverse order, whichever the metric likes less. The order must hold for the
    mean over the largest rung of several samples of each kind, where random and wrong maps may share the worst score; a
    metric is blind where no rung shows any difference.
    """
    if not case.promises.prefers:
        raise NotApplicable("does not promise it for every linear model; at sites its direction is tried")
    sign = case.direction
    if not any(case.ask(rung, rung.exact).defined.any() for rung in case.answered):
        raise NotApplicable("is defined on no linear model")
    if all(_blind(case, rung) for rung in case.answered):
        rung = next((rung for rung in case.answered if rung.exact[0].numel() > 2), case.answered[0])
        told = f"{case.ask(rung, rung.exact)} for exact, random and negated attributions alike"
        yield case.fault(direction_on_linear, "does not see the map", rung.told(rung.exact, told))
        return
    for kind in dict.fromkeys(rung.kind for rung in case.answered):
        rungs = [rung for rung in case.answered if rung.kind == kind]
        largest = max(rungs, key=lambda rung: (len(rung) > 1, rung.x.numel()))
        if found := _disorder(case, largest, sign):
            smallest = next(rung for rung in rungs if _disorder(case, rung, sign) == found)
            told = ", ".join(f"{value:.6g} for {name}" for name, value in _likings(case, smallest, 1).items())
            yield case.fault(direction_on_linear, found, smallest.told(smallest.exact, told))
            return


def _disorder(case: LadderCase, rung: Rung, sign: int) -> str:
    """What is out of order, or nothing; a metric that is defined on no sample says nothing."""
    likings = _likings(case, rung, sign)
    exact, random, wrong = (likings.get(name) for name in ("exact maps", "random maps", "wrong maps"))
    if exact is None or random is None or wrong is None:
        return ""
    near = CLOSE * max(TINY, abs(exact), abs(random), abs(wrong))  # errors in squared units of the score may be small
    if not exact > random + near:
        return "does not prefer exact attributions to random ones"
    if not exact > wrong + near:
        return "does not prefer exact attributions to wrong ones"
    return "prefers wrong attributions to random ones" if wrong > random + near else ""


def _likings(case: LadderCase, rung: Rung, sign: int) -> dict[str, float]:
    """The mean score of each kind of map, negated where lower is better (``sign`` 1 and -1), where there is one."""
    random = [maps.random(rung.exact, which) for which in range(maps.RANDOM)]
    exact, *answers = case.attempts_at(rung, [rung.exact, *random, *maps.wrong(rung.exact).values()])
    wrong = [_mean([found]) for found in answers[maps.RANDOM :]]
    known = sorted((value for value in wrong if value is not None), key=lambda value: case.direction * value)
    likings = {
        "exact maps": _mean([exact]),
        "random maps": _mean(answers[: maps.RANDOM]),
        "wrong maps": known[0] if known else None,
    }
    return {name: sign * value for name, value in likings.items() if value is not None}


def _mean(answers: list[list[Answer]]) -> float | None:
    values = np.concatenate([np.zeros(0), *(one.means[one.defined] for found in answers for one in found)])
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else None


def _blind(case: LadderCase, rung: Rung) -> bool:
    others = [*maps.wrong(rung.exact).values(), maps.random(rung.exact)]
    plain, *answers = case.attempts_at(rung, [rung.exact, *others])
    return not any(apart(plain, found, case.noisy) for found in answers if found)
