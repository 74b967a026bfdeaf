"""Is every sample scored, independently of the other samples?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from torch import Tensor

from assay.check.contracts.fault import Fault
from assay.check.linear import maps
from assay.check.linear.linear_case import LinearCase, answers_differ
from assay.check.linear.linear_models import LinearProblem
from assay.check.linear.metric_calls import Answer

CROWD = 72  # samples or a few more: larger than usual batches


def every_sample(case: LinearCase) -> Iterator[Fault]:
    """Every sample counts: its score is the same alone, with others and in another order.

    A metric that returns one number for all samples must depend on each of them, and not on their order.
    """
    for problem in case.multi_sample_problems:
        for attribution in (problem.exact, maps.random(problem.exact)):  # errors of exact maps are 0 in every batch
            if fault := _context_fault(case, problem, attribution):
                yield fault
                return
    mixed = [
        problem for problem in reversed(case.multi_sample_problems) if len(problem.y.unique()) > 1 and len(problem) % 2
    ]
    for problem in {problem.kind: problem for problem in mixed}.values():  # the smallest of each kind
        if fault := _crowd_fault(case, problem):
            yield fault
            return
    yield from _ignored_sample(case)


def _context_fault(case: LinearCase, problem: LinearProblem, attribution: Tensor) -> Fault | None:
    """The samples in reverse order, and each alone."""
    order = list(reversed(range(len(problem))))
    plain, reverse = case.try_answers(problem, attribution), case.try_answers(problem.rows(order), attribution[order])
    if not plain or not reverse:
        return None  # an error: reported by ``answers``
    if plain[0].per_sample:
        reverse = [_in_order(answer, order) for answer in reverse]
    if answers_differ(plain, reverse, case.noisy):
        text = f"{plain[0]}, and {reverse[0]} in reverse order, put back"
        return case.fault(every_sample, "returned other numbers in another order", problem.describe(attribution, text))
    if plain[0].per_sample:
        alone = [case.try_answers(problem.rows([row]), attribution[[row]]) for row in range(len(problem))]
        if all(alone) and answers_differ(
            plain, [_concatenated(parts) for parts in zip(*alone, strict=True)], case.noisy
        ):
            text = f"{plain[0]}, and one by one {', '.join(str(parts[0]) for parts in alone)}"
            return case.fault(
                every_sample, "returned other numbers for samples alone", problem.describe(attribution, text)
            )
    return None


def _crowd_fault(case: LinearCase, problem: LinearProblem) -> Fault | None:
    """The samples repeated up to ``CROWD``, in one batch if the call takes a batch size (``batch_size`` tries others).

    They are an odd number and of both classes, so that batches of an even size begin with different samples.
    """
    repeats = -(-CROWD // len(problem))
    order = list(range(len(problem))) * repeats
    attribution = maps.random(problem.exact)
    plain = case.try_answers(problem, attribution)
    crowd = case.try_answers(problem.rows(order), attribution[order], len(order) if case.metric_call.batches else None)
    if not plain or not crowd or not plain[0].per_sample:
        return None
    if not answers_differ([_concatenated([answer] * repeats) for answer in plain], crowd, case.noisy):
        return None
    text = f"{plain[0]}, and {_first_different(plain[0], crowd[0])} among {len(order)}, repeated {repeats} times"
    return case.fault(every_sample, "returned other numbers among many samples", problem.describe(attribution, text))


def _first_different(plain: Answer, crowd: Answer) -> Answer:
    """The first repetition of the samples in the crowd whose answer is not the plain one."""
    count = len(plain.values)
    parts = [slice(start, start + count) for start in range(0, len(crowd.values), count)]
    answers = [Answer(crowd.values[part], True, crowd.defined[part]) for part in parts]
    return next((answer for answer in answers if answers_differ([plain], [answer], False)), crowd)


def _ignored_sample(case: LinearCase) -> Iterator[Fault]:
    """One number for all samples that changes if all maps are negated, but never if one sample's map is."""
    for row in (-1, 0):
        problems = [
            problem for problem in case.multi_sample_problems if not case.ask(problem, problem.exact).per_sample
        ]
        noticed = [problem for problem in problems if _notices(case, problem, -problem.exact)]
        blind = [problem for problem in noticed if not _notices(case, problem, _with_one_negated(problem, row))]
        if noticed and blind == noticed:
            which = "last" if row else "first"
            text = f"{case.ask(blind[0], blind[0].exact)} whatever the map of the {which} sample"
            yield case.fault(
                every_sample, f"does not score the {which} sample", blind[0].describe(blind[0].exact, text)
            )
            return


def _notices(case: LinearCase, problem: LinearProblem, attribution: Tensor) -> bool:
    """True where a map gets another answer than the exact one."""
    answers = case.try_answers(problem, attribution)
    return bool(answers) and answers_differ(case.answers(problem, problem.exact), answers, case.noisy)


def _with_one_negated(problem: LinearProblem, row: int) -> Tensor:
    attribution = problem.exact.clone()
    attribution[row] *= -1
    return attribution


def _in_order(answer: Answer, order: Sequence[int]) -> Answer:
    back = np.argsort(order)
    return Answer(answer.values[back], answer.per_sample, answer.defined[back])


def _concatenated(parts: Sequence[Answer]) -> Answer:
    values = np.concatenate([part.values for part in parts])
    return Answer(values, True, np.concatenate([part.defined for part in parts]))
