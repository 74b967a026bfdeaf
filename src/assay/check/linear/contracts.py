"""Promises of metrics, tried on linear models; the witness of a fault is the smallest problem that shows it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from torch import Tensor

from assay.check.contracts.fault import Fault
from assay.check.linear import maps
from assay.check.linear.linear_case import LinearCase, answers_differ, error_text, tolerance
from assay.check.linear.linear_models import LinearProblem
from assay.check.linear.metric_calls import Answer
from assay.core.errors import NotApplicable

MANY_NUMBERS = 8  # in a map: too many to be in the right order by chance


def batch_size(case: LinearCase) -> Iterator[Fault]:
    """1, 2 or all samples at a time."""
    if not case.metric_call.batches:
        raise NotApplicable("its call takes no batch size")
    raised = differed = False
    for problem in case.multi_sample_problems:
        for attribution in (problem.exact, maps.half_negated(problem.exact)):
            for size in (1, 2)[: len(problem) - 1]:
                difference = _compare(case, problem, attribution, size)
                if isinstance(difference, Exception) and not raised:
                    message = f"raised {error_text(difference)} with batch_size={size}"
                    yield case.fault(batch_size, message, problem.describe(attribution))
                    raised = True
                elif isinstance(difference, tuple) and not differed:
                    yield _batch_fault(case, problem, attribution, size)
                    differed = True


AnswerPair = tuple[list[Answer], list[Answer]]


def _compare(case: LinearCase, problem: LinearProblem, attribution: Tensor, size: int) -> AnswerPair | Exception | None:
    """Answers with all samples at a time and with ``size`` at a time if these differ, or what the latter raised."""
    whole = case.try_answers(problem, attribution, len(problem))
    try:
        batched = case.answers(problem, attribution, size) if whole else []
    except Exception as error:
        return error
    return (whole, batched) if batched and answers_differ(whole, batched, case.noisy) else None


def _batch_fault(case: LinearCase, problem: LinearProblem, attribution: Tensor, size: int) -> Fault:
    """The fault, shown with as few samples as possible."""
    for count in range(size + 1, len(problem) + 1):
        part, rows = problem.rows(range(count)), attribution[:count]
        if isinstance(pair := _compare(case, part, rows, size), tuple):
            break
    whole, batched = pair  # type: ignore[misc]
    returned = f"{batched[0]} with batch_size={size} and {whole[0]} with batch_size={len(part)}"
    return case.fault(batch_size, _batch_text(case, part, rows, size, batched), part.describe(rows, returned))


def _batch_text(case: LinearCase, problem: LinearProblem, attribution: Tensor, size: int, batched: list[Answer]) -> str:
    """The message of a ``batch_size`` fault: says so if the answer is the score of the first batch alone."""
    alone = case.try_answers(problem.rows(range(size)), attribution[:size])
    first = alone and not alone[0].per_sample and not answers_differ(alone, batched, case.noisy)
    if first and np.isfinite(batched[0].values).all():
        return f"scored the first batch only with batch_size={size}"
    return f"returned other numbers with batch_size={size}"


def no_memory(case: LinearCase) -> Iterator[Fault]:
    """What an instance judged before changes nothing: it is used for many models and many sizes."""
    for problem in case.problems:
        plain = case.answers(problem, problem.exact)
        for before in _problems_of_other_sizes(case, problem):
            try:
                after = case.answers_after(before, problem)
            except NotApplicable:
                raise
            except Exception as error:
                message = f"raised {error_text(error)}, having judged {before.name}"
                yield case.fault(no_memory, message, problem.describe(problem.exact))
                return
            if answers_differ(plain, after, case.noisy):
                returned = f"{plain[0]}, and {after[0]} having judged {before.name}"
                yield case.fault(
                    no_memory, "returned other numbers when used again", problem.describe(problem.exact, returned)
                )
                return


def _problems_of_other_sizes(case: LinearCase, problem: LinearProblem) -> list[LinearProblem]:
    """The smallest and the largest problem of the same kind, if they have another size."""
    alike = [other for other in case.problems if other.kind == problem.kind]
    return [other for other in (alike[0], alike[-1]) if other.weights.shape != problem.weights.shape]


def constant_maps(case: LinearCase) -> Iterator[Fault]:
    """Also: they score worse than exact ones.

    That part needs an ideal and a direction, and a metric that scores half-constant maps worse as well: an axiom
    about a few features may hold for zeros.
    """
    for name in ("zeros", "ones", "minus ones"):
        for problem in case.problems:
            attribution = maps.constant(problem.exact)[name]
            try:
                answer = case.ask(problem, attribution)
            except NotApplicable:
                continue
            except Exception as error:
                yield case.fault(
                    constant_maps, f"raised {error_text(error)} for a map of {name}", problem.describe(attribution)
                )
                break
            if not np.isfinite(answer.values[answer.defined]).all():
                message = f"returned NaN or infinite values for a map of {name}"
                yield case.fault(constant_maps, message, problem.describe(attribution, answer))
                break
    if case.promises.ideal is not None and case.promises.higher is not None:
        yield from _constant_as_good(case)


def _constant_as_good(case: LinearCase) -> Iterator[Fault]:
    """Constant maps that score as well as exact ones, with ``MANY_NUMBERS`` or more: fewer may be right by chance."""
    for name in ("zeros", "ones", "minus ones"):
        large = [problem for problem in case.problems if problem.exact[0].numel() >= MANY_NUMBERS]
        if any(_as_good(case, problem, name) and not _as_good(case, problem, name, half=True) for problem in large):
            problem = next(problem for problem in case.problems if _as_good(case, problem, name))
            attribution = maps.constant(problem.exact)[name]
            text = f"{case.ask(problem, attribution)}, and {case.ask(problem, problem.exact)} for exact attributions"
            message = f"scores a map of {name} no worse than exact attributions, which reach {case.promises.ideal:g}"
            yield case.fault(constant_maps, message, problem.describe(attribution, text))
            return


def _as_good(case: LinearCase, problem: LinearProblem, name: str, half: bool = False) -> bool:
    """True where no sample's constant map scores worse than the exact one for any seed; False where none is defined."""
    flat = maps.constant(problem.exact)[name]
    answers = case.try_answers(problem, maps.half_constant(problem.exact, flat) if half else flat)
    if not answers:
        return False
    plain = case.answers(problem, problem.exact)
    constant, exact = (case.direction * np.stack([answer.means for answer in side]) for side in (answers, plain))
    defined = np.stack([answer.defined for answer in (*answers, *plain)]).all(axis=0)
    good = constant.min(axis=0) >= exact.max(axis=0) - tolerance(exact)
    return bool(defined.any() and good[defined].all())
