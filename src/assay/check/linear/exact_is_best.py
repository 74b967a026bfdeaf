"""Does a metric give the exact attribution of a linear model its ideal, and the best score of all maps?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from torch import Tensor

from assay.check.contracts.fault import Fault
from assay.check.linear import maps
from assay.check.linear.linear_case import SEEDS, TOLERANCE, LinearCase, answers_differ, confirmed_one_by_one, tolerance
from assay.check.linear.linear_models import LinearProblem, format_numbers
from assay.check.linear.metric_calls import Answer
from assay.core.errors import NotApplicable

SMALLEST_SIZE = 1e-5  # of scores, for rounding: among smaller scores, differences above 1e-9 count
MOST_FEATURES = 12  # of a map whose features are changed one by one


def exact_on_linear(case: LinearCase) -> Iterator[Fault]:
    """Exact attributions of a linear model reach the ideal: for every problem, sample and number."""
    ideal = case.promises.ideal
    if ideal is None:
        raise NotApplicable("declares no ideal that exact attributions reach: give --ideal VALUE")
    # By the traits of a problem, the smallest problem that misses the ideal, with its answer and row.
    missed: dict[tuple[str, ...], tuple[LinearProblem, Answer, int]] = {}
    for problem in case.problems:
        answers = case.answers(problem, problem.exact)
        rows = [(answer, int(row)) for answer in answers for row in np.flatnonzero(_misses(answer, ideal))]
        if rows:
            missed.setdefault(problem.traits, (problem, *rows[0]))
    for traits in missed:
        if any(set(fewer) < set(traits) for fewer in missed):
            continue  # reported for fewer traits
        smallest = next(miss for others, miss in missed.items() if set(traits) <= set(others))  # problems grow
        part, returned = _smallest_witness(case, *smallest, ideal)
        message = f"does not reach {ideal:g} for exact attributions{''.join(traits)}"
        yield case.fault(exact_on_linear, message, part.describe(part.exact, f"{returned} instead of {ideal:g}"))


def _smallest_witness(
    case: LinearCase, problem: LinearProblem, answer: Answer, row: int, ideal: float
) -> tuple[LinearProblem, Answer]:
    """The sample that misses the ideal, or as few samples as possible that miss it together."""
    parts = [problem.rows([row])] if answer.per_sample else []
    for part in (*parts, *(problem.rows(range(count)) for count in range(1, len(problem)))):
        for part_answer in case.try_answers(part, part.exact):
            if _misses(part_answer, ideal).any():
                return part, part_answer
    return problem, answer


def _misses(answer: Answer, ideal: float) -> npt.NDArray[np.bool_]:
    """Rows with a number that is not the ideal; NaN is left to ``finite``."""
    far = np.abs(answer.values - ideal) > tolerance([ideal])
    return np.asarray(far.any(axis=1) & answer.defined)


@confirmed_one_by_one
def best_on_linear(case: LinearCase) -> Iterator[Fault]:
    """No wrong, random or reordered map of a linear model scores better than the exact attribution.

    The attribution of every feature matters, if that of most features does.
    """
    if not case.promises.best:
        raise NotApplicable("does not declare that exact attributions are best: give --best or --ideal VALUE")
    sign = case.direction
    for problem in case.problems:
        alternatives = maps.alternatives(problem.exact)
        plain, *others = case.try_maps(problem, [problem.exact, *alternatives.values()])
        for (name, attribution), answers in zip(alternatives.items(), others, strict=True):
            if answers and (row := _first_better_row(answers, plain, sign)) is not None:
                whole = (problem, attribution, (plain[0], answers[0]))
                part, other, pair = _smallest_part(case, problem, attribution, row) or whole
                returned = f"{pair[0]}, and {pair[1]} for {name} {format_numbers(other)}"
                message = "scores another map better than the exact one"
                yield case.fault(best_on_linear, message, part.describe(part.exact, returned))
                return
    yield from _overlooked_feature(case)


def _smallest_part(
    case: LinearCase, problem: LinearProblem, other: Tensor, row: int
) -> tuple[LinearProblem, Tensor, tuple[Answer, Answer]] | None:
    """The sample alone, or with those before it, if these also score the other map better; None otherwise."""
    for rows in ([row], range(row + 1)):
        part, attribution = problem.rows(rows), other[list(rows)]
        plain, answers = case.try_maps(part, [part.exact, attribution])
        if plain and answers and _first_better_row(answers, plain, case.direction) is not None:
            return part, attribution, (plain[0], answers[0])
    return None


def _overlooked_feature(case: LinearCase) -> Iterator[Fault]:
    """A feature with an effect whose attribution changes no score, although that of most features does.

    (An axiom may look at a few features only: that is no fault.) The feature must be overlooked in every problem of at
    least as many features, at the same position from the start or from the end, and for all seeds: a metric that draws
    few random sets may miss a feature once.
    """
    small = [problem for problem in case.problems if len(problem) > 1 and problem.exact[0].numel() <= MOST_FEATURES]
    seeded = [
        [replace(problem, seed=SEEDS * number + seed) for seed in range(SEEDS)] for number, problem in enumerate(small)
    ]
    for versions in seeded:
        problem, count = versions[0], versions[0].exact[0].numel()
        with_effect = problem.exact.flatten(1).any(dim=0).nonzero().flatten().tolist()
        overlooked = [feature for feature in with_effect if not _matters(case, versions[:1], feature)]
        if 2 * len(overlooked) >= len(with_effect):
            continue
        others = [other for other in seeded if other is not versions and other[0].exact[0].numel() >= count]
        for feature in (index for index in overlooked if others and not _matters(case, versions[1:], index)):
            from_start, from_end = feature, feature - count
            if any(not any(_matters(case, other, index) for other in others) for index in (from_start, from_end)):
                message = f"gives the same score whatever the attribution of feature {feature} (the first is 0)"
                yield case.fault(
                    best_on_linear, message, problem.describe(problem.exact, case.ask(problem, problem.exact))
                )
                return


def _matters(case: LinearCase, versions: Sequence[LinearProblem], feature: int) -> bool:
    """True if another attribution of the feature changes an answer with the same seed, or raises an error.

    ``versions`` are the same problem with different seeds.
    """
    for problem in versions:
        plain = case.ask(problem, problem.exact, seed=problem.seed)
        for attribution in maps.one_changed(problem.exact, feature):
            outcome = case.try_answer(problem, attribution, problem.seed)
            if isinstance(outcome, Exception) or answers_differ([plain], [outcome], False):
                return True
    return False


def _first_better_row(answers: list[Answer], plain: list[Answer], sign: int) -> int | None:
    """The first row in which all ``answers`` are better than all ``plain`` ones."""
    other, exact = (sign * np.stack([answer.means for answer in side]) for side in (answers, plain))
    defined = np.stack([answer.defined for answer in (*answers, *plain)]).all(axis=0)
    rows = np.flatnonzero(defined & (other.min(axis=0) > exact.max(axis=0) + tolerance(exact)))
    return int(rows[0]) if len(rows) else None


@confirmed_one_by_one
def direction(case: LinearCase) -> Iterator[Fault]:
    """Exact attributions score better than random ones, and random ones no worse than wrong ones.

    Wrong is the negated map or the sizes in reverse order, whichever scores worse. Compared are means over the largest
    problem with several samples, of images and of tables; random and wrong maps may share the worst score. A metric
    that gives all maps of all problems the same score does not see the map.
    """
    if not case.promises.prefers:
        raise NotApplicable("does not promise it for every linear model; its direction is tried at the sites")
    sign = case.direction
    if not any(case.ask(problem, problem.exact).defined.any() for problem in case.problems):
        raise NotApplicable("is defined on no linear model")
    if all(_ignores_map(case, problem) for problem in case.problems):
        problem = next((problem for problem in case.problems if problem.exact[0].numel() > 2), case.problems[0])
        returned = f"{case.ask(problem, problem.exact)} for exact, random and negated attributions alike"
        yield case.fault(direction, "does not see the map", problem.describe(problem.exact, returned))
        return
    for kind in dict.fromkeys(problem.kind for problem in case.problems):
        problems = [problem for problem in case.problems if problem.kind == kind]
        largest = max(problems, key=lambda problem: (len(problem) > 1, problem.x.numel()))
        if message := _wrong_order(case, largest, sign):
            smallest = next(problem for problem in problems if _wrong_order(case, problem, sign) == message)
            scores = ", ".join(f"{value:.6g} for {name}" for name, value in _mean_scores(case, smallest, 1).items())
            yield case.fault(direction, message, smallest.describe(smallest.exact, scores))
            return


def _wrong_order(case: LinearCase, problem: LinearProblem, sign: int) -> str:
    """Which kinds of maps are in the wrong order; empty if none are, or if a kind has no defined score."""
    scores = _mean_scores(case, problem, sign)
    exact, random, wrong = (scores.get(name) for name in ("exact maps", "random maps", "wrong maps"))
    if exact is None or random is None or wrong is None:
        return ""
    # Not ``tolerance``: scores that are squared errors may all be far below 1.
    rounding = TOLERANCE * max(SMALLEST_SIZE, abs(exact), abs(random), abs(wrong))
    if not exact > random + rounding:
        return "does not prefer exact attributions to random ones"
    if not exact > wrong + rounding:
        return "does not prefer exact attributions to wrong ones"
    return "prefers wrong attributions to random ones" if wrong > random + rounding else ""


def _mean_scores(case: LinearCase, problem: LinearProblem, sign: int) -> dict[str, float]:
    """``sign`` times the mean score of each kind of map; kinds without a defined score are left out."""
    random = [maps.random(problem.exact, which) for which in range(maps.RANDOM)]
    exact, *others = case.try_maps(problem, [problem.exact, *random, *maps.wrong(problem.exact).values()])
    wrong = [_mean([answers]) for answers in others[maps.RANDOM :]]
    worst_first = sorted((value for value in wrong if value is not None), key=lambda value: case.direction * value)
    scores = {
        "exact maps": _mean([exact]),
        "random maps": _mean(others[: maps.RANDOM]),
        "wrong maps": worst_first[0] if worst_first else None,
    }
    return {name: sign * value for name, value in scores.items() if value is not None}


def _mean(answers: list[list[Answer]]) -> float | None:
    """The mean over maps, seeds and samples, where it is defined and finite."""
    values = np.concatenate([np.zeros(0), *(answer.means[answer.defined] for seeds in answers for answer in seeds)])
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else None


def _ignores_map(case: LinearCase, problem: LinearProblem) -> bool:
    """True where wrong and random maps get the same answers as the exact one."""
    attributions = [*maps.wrong(problem.exact).values(), maps.random(problem.exact)]
    plain, *others = case.try_maps(problem, [problem.exact, *attributions])
    return not any(answers_differ(plain, answers, case.noisy) for answers in others if answers)
