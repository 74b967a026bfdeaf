"""A metric tried on linear models, and the promises that it is held to there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from math import prod
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from assay.check.contracts.fault import Fault, Unanswered
from assay.check.linear import maps
from assay.check.linear.linear_models import LinearProblem, linear_problems
from assay.check.linear.maps import random
from assay.check.linear.metric_calls import Answer, ForeignMetricCall, MetricCall, TrialMetricCall
from assay.core.errors import NotApplicable
from assay.core.facts import fact
from assay.core.rng import global_streams_seeded
from assay.foreign.metrics import ForeignMetric, Numbers

SEEDS = 8  # answers of a random metric: by chance, 8 all lie on one side of 8 others in 1 of 6435 comparisons
TOLERANCE = 1e-4  # relative and absolute: answers of float32 models, through a correlation


@dataclass(frozen=True)
class Promises:
    """What a metric declares about itself, or what its user declares on the command line."""

    higher: bool | None = None  # whether higher scores are better
    ideal: float | None = None  # what exact attributions of a linear model reach
    best: bool = False  # no other map of a linear model is better than the exact one
    prefers: bool = True  # measures how true a map is: exact maps beat random ones, random ones beat wrong ones
    invariant: tuple[str, ...] = ()  # scale, shift, monotone
    kinds: tuple[str, ...] = ("image", "table")  # of samples
    literal: ForeignMetric | None = None  # a literal version, whose numbers must be the same

    @classmethod
    def of(cls, metric: Any) -> Promises:
        """The promises that a metric declares."""
        zero_canvas = fact(metric, "canvas", "zero") in ("zero", "true", 0)  # as the baseline of exact attributions
        exact = zero_canvas and bool(fact(metric, "exact_on_linear", False))
        best = exact or (zero_canvas and bool(fact(metric, "best_on_linear", False)))
        ideal = fact(metric, "ideal")
        return cls(
            higher=fact(metric, "higher_is_better"),
            ideal=float(ideal) if exact and ideal is not None else None,
            best=best,
            prefers=isinstance(metric, ForeignMetric) or best or "truth" in fact(metric, "needs", ()),
            invariant=tuple(fact(metric, "invariant", ())),
            kinds=tuple(fact(metric, "kinds", ("image", "table"))),
        )

    def updated(self, changes: Mapping[str, Any]) -> Promises:
        """These promises with the changes that are not None; an ideal implies ``best``."""
        fields = {name: value for name, value in changes.items() if value is not None}
        return replace(self, **({"best": True} if "ideal" in fields else {}) | fields)


@dataclass(frozen=True, eq=False)
class LinearCase:
    """A metric on all linear problems of the kinds that it applies to."""

    target: str
    metric_call: MetricCall
    promises: Promises
    stacks_maps: bool = True  # judge several maps of the same samples in one call, where that changes no score
    _exact_answers: dict[tuple[LinearProblem, int | None, int], Answer] = field(default_factory=dict)
    _separable_problems: dict[LinearProblem, bool] = field(default_factory=dict)

    @classmethod
    def of(cls, target: str, metric: Any, promises: Mapping[str, Any]) -> LinearCase:
        call = ForeignMetricCall(metric) if isinstance(metric, ForeignMetric) else TrialMetricCall(metric)
        return cls(target, call, Promises.of(metric).updated(promises))

    @property
    def name(self) -> str:
        return f"{self.target} on linear models"

    def fresh(self) -> LinearCase:
        return self  # models and instances are made anew for every answer

    def fault(self, contract: Callable[..., object], message: str, witness: str = "") -> Fault:
        return Fault(contract.__name__, self.name, message, witness)

    def ask(self, problem: LinearProblem, attribution: Tensor, batch_size: int | None = None, seed: int = 0) -> Answer:
        """The answer to a map. Answers to the exact map are cached: many contracts ask for them."""
        key = (problem, batch_size, seed)
        if attribution is problem.exact and key in self._exact_answers:
            return self._exact_answers[key]
        deterministic = self.__dict__.get("noisy") is False  # None while ``noisy`` is unknown
        with nullcontext() if deterministic else global_streams_seeded("ladder", seed):  # the stream's name
            answer = self.metric_call.ask(problem, attribution.clone(), batch_size)
        if attribution is problem.exact:
            self._exact_answers[key] = answer
        return answer

    def answers(self, problem: LinearProblem, attribution: Tensor, batch_size: int | None = None) -> list[Answer]:
        """One answer; of a random metric, one for each of several seeds."""
        return [self.ask(problem, attribution, batch_size, seed) for seed in range(SEEDS if self.noisy else 1)]

    def try_answers(self, problem: LinearProblem, attribution: Tensor, batch_size: int | None = None) -> list[Answer]:
        """The same; empty where an error is raised, which ``answers`` reports."""
        try:
            return self.answers(problem, attribution, batch_size)
        except Exception:
            return []

    def try_maps(self, problem: LinearProblem, attributions: Sequence[Tensor]) -> list[list[Answer]]:
        """``try_answers`` for several maps of the same samples; in a single call if scores are per sample."""
        copies, count = len(attributions), len(problem)
        stacked = problem.rows(list(range(count)) * copies)
        together = self.stacks_maps and self._separable(problem)
        answers = self.try_answers(stacked, torch.cat(list(attributions))) if together else []
        if not answers or len(answers[0].values) != copies * count:
            return [self.try_answers(problem, attribution) for attribution in attributions]
        parts = [slice(start, start + count) for start in range(0, copies * count, count)]
        return [[Answer(answer.values[part], True, answer.defined[part]) for answer in answers] for part in parts]

    @property
    def one_by_one(self) -> LinearCase:
        """The same case with one map per call."""
        case = replace(self, stacks_maps=False)
        case.__dict__["noisy"] = self.noisy  # computed already
        return case

    def _separable(self, problem: LinearProblem) -> bool:
        """True where scores are per sample and do not depend on the other maps of the call. (A metric that divides by
        the worst score of its batch gets one map per call.)"""
        if problem not in self._separable_problems:
            plain = self.try_answer(problem, problem.exact)
            self._separable_problems[problem] = (
                not self.noisy and isinstance(plain, Answer) and plain.per_sample and self._same_in_one_call(problem)
            )
        return self._separable_problems[problem]

    def _same_in_one_call(self, problem: LinearProblem) -> bool:
        maps = torch.cat([problem.exact[:1], random(problem.exact[:1]), -problem.exact[:1]])
        together = self.try_answers(problem.rows([0, 0, 0]), maps)
        alone = [self.try_answers(problem.rows([0]), maps[[row]]) for row in range(len(maps))]
        if not together or not all(alone) or len(together[0].values) != len(maps):
            return False
        return all(
            np.allclose(together[0].values[row], answers[0].values[0], rtol=1e-4, atol=1e-4, equal_nan=True)
            for row, answers in enumerate(alone)
        )

    def errors(self) -> Iterator[tuple[Exception, str]]:
        """What is raised for exact, negated and random maps, with the smallest problem for each kind of message."""
        reported: dict[str, LinearProblem] = {}
        for problem, answer in self.outcomes:
            runs = [(problem.exact, answer)]
            if isinstance(answer, Answer):
                others = (-problem.exact, maps.random(problem.exact))  # a negative attribution is no error
                runs += [(other, self.try_answer(problem, other)) for other in others]
            for attribution, outcome in runs:
                if isinstance(outcome, Exception):
                    kind = "".join(
                        letter for letter in error_text(outcome) if not letter.isdigit()
                    )  # whatever the size
                    if kind not in reported or _adds_map_per_pixel(reported[kind], problem):
                        reported[kind] = problem
                        yield outcome, problem.describe(attribution)

    def arrays(self) -> Iterator[tuple[str, Numbers, str]]:
        """The numbers for exact maps, where defined, and what was judged."""
        for problem in self.problems:
            answer = self.ask(problem, problem.exact)
            yield "value", answer.values[answer.defined], problem.describe(problem.exact, answer)

    def model_changes(self) -> Iterator[tuple[list[str], str]]:
        """Changed parts of the model after each problem."""
        if not isinstance(self.metric_call, ForeignMetricCall):
            raise NotApplicable("is called with a trial: tried at the sites")
        for problem in self.problems:
            yield self.metric_call.model_changes(problem), problem.describe(problem.exact)

    @property
    def invariant(self) -> tuple[str, ...]:
        return self.promises.invariant

    def variances(self, kind: str) -> Iterator[str]:
        """Maps that a metric with this invariance must not tell apart, and does."""
        # A metric may add up channels: a change that keeps the order of entries need not keep the order of their sums.
        for problem in (
            each for each in self.problems if kind == "scale" or each.exact[0].numel() == prod(each.features.shape)
        ):
            for start in (problem.exact, maps.random(problem.exact)):
                variants = maps.equivalent(start, kind)
                plain, *others = self.try_maps(problem, [start, *variants.values()])
                for name, answers in zip(variants, others, strict=True):
                    if plain and answers and answers_differ(plain, answers, self.noisy):
                        yield problem.describe(start, f"{plain[0]}, and {answers[0]} for {name}")

    def answers_after(self, before: LinearProblem, problem: LinearProblem) -> list[Answer]:
        """The answers of instances that judged another problem before."""
        if not isinstance(self.metric_call, ForeignMetricCall):
            raise NotApplicable("is a frozen dataclass: it cannot remember anything")
        answers = []
        for seed in range(SEEDS if self.noisy else 1):
            with global_streams_seeded("ladder", seed):
                answers.append(self.metric_call.ask_after(before, problem))
        return answers

    @cached_property
    def outcomes(self) -> tuple[tuple[LinearProblem, Answer | Exception], ...]:
        """Every problem of the promised kinds, with the answer to the exact map or the exception raised."""
        return tuple(
            (problem, self.try_answer(problem, problem.exact))
            for problem in linear_problems()
            if problem.kind in self.promises.kinds
        )

    def try_answer(self, problem: LinearProblem, attribution: Tensor, seed: int = 0) -> Answer | Exception:
        try:
            return self.ask(problem, attribution, seed=seed)
        except Exception as error:
            return error

    @property
    def problems(self) -> tuple[LinearProblem, ...]:
        """Problems whose exact map gets an answer; raises NotApplicable or Unanswered where there are none."""
        answered = tuple(problem for problem, answer in self.outcomes if isinstance(answer, Answer))
        if not answered:
            reasons = [answer for _, answer in self.outcomes if isinstance(answer, NotApplicable)]
            raise reasons[0] if reasons else Unanswered("answers on no linear model")
        return answered

    @property
    def multi_sample_problems(self) -> tuple[LinearProblem, ...]:
        """Answered problems with more than one sample."""
        return tuple(problem for problem in self.problems if len(problem) > 1)

    @cached_property
    def noisy(self) -> bool:
        """True where another global seed changes an answer. Our own metrics must not use it: see the site contracts."""
        if isinstance(self.metric_call, TrialMetricCall):
            return False
        for problem in self.problems:
            random_map = maps.random(problem.exact)
            for attribution in (problem.exact, random_map):
                with suppress(Exception):
                    first, second = (self.ask(problem, attribution, seed=seed) for seed in range(2))
                    if answers_differ([first], [second], False):
                        return True
        return False

    @property
    def direction(self) -> int:
        if self.promises.higher is None:
            raise NotApplicable("it does not say which direction is better: give --higher or --lower")
        return 1 if self.promises.higher else -1

    def reason(self) -> str:
        """Why the metric does not apply to linear models; empty if it does."""
        try:
            self.problems  # noqa: B018
        except NotApplicable as error:
            return str(error)
        except Unanswered:
            pass
        return ""


def _adds_map_per_pixel(first: LinearProblem, problem: LinearProblem) -> bool:
    """True for the same images with a map per pixel: if channels cause an error, both witnesses are reported."""
    return problem.per_pixel and not first.per_pixel and first.environment.shape == problem.environment.shape


def error_text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ")


C = TypeVar("C", bound=Any)  # a case


def confirmed_one_by_one(contract: Callable[[C], Iterator[Fault]]) -> Callable[[C], Iterator[Fault]]:
    """Confirm a contract's faults with one map per call: confusing the samples of a batch breaks ``every_sample``."""

    @wraps(contract)
    def confirmed(case: C) -> Iterator[Fault]:
        if any(True for _ in contract(case)):
            yield from contract(case.one_by_one)

    return confirmed


def answers_differ(left: list[Answer], right: list[Answer], noisy: bool) -> bool:
    """True where two answers differ by more than rounding; of a noisy metric, for all seeds the same way."""
    if noisy:
        a, b = ([float(np.mean(answer.means)) for answer in side] for side in (left, right))
        return max(a) < min(b) - tolerance(a) or max(b) < min(a) - tolerance(b)
    first, second = left[0], right[0]
    if first.values.shape != second.values.shape:
        return True
    both = first.defined & second.defined
    same = np.allclose(first.values[both], second.values[both], rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
    return bool((first.defined != second.defined).any()) or not same


def tolerance(values: Any) -> float:
    """The largest difference that counts as rounding between numbers of this size."""
    return TOLERANCE * max(1.0, float(np.abs(np.nan_to_num(values)).max()))
