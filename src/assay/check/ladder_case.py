"""A metric on the ladder of linear models, with what it promises there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from typing import Any

import numpy as np
import torch
from torch import Tensor

from assay.check import maps
from assay.check.fault import Fault, Unanswered
from assay.check.judges import Answer, ForeignJudge, Judge, OwnJudge
from assay.check.maps import random
from assay.check.rungs import Rung, ladder
from assay.core.errors import NotApplicable
from assay.core.foreign_metrics import ForeignMetric
from assay.core.promises import fact
from assay.core.rng import seeded

SEEDS = 8  # draws of a metric that draws: by chance, 8 and 8 are apart in 1 of 6435 comparisons
CLOSE = 1e-4  # relative and absolute: answers of float32 models, through a correlation


@dataclass(frozen=True)
class Promises:
    """What a metric declares about itself, or its user on the command line."""

    higher: bool | None = None  # is better
    ideal: float | None = None  # what exact attributions of a linear model reach
    best: bool = False  # no other map of a linear model is better than the exact one
    prefers: bool = True  # judges how true a map is, so that exact beats random beats wrong
    invariant: tuple[str, ...] = ()  # scale, shift, monotone
    kinds: tuple[str, ...] = ("image", "table")  # of samples
    literal: ForeignMetric | None = None  # another version, to agree with

    @classmethod
    def of(cls, metric: Any) -> Promises:
        """As declared."""
        zero = fact(metric, "canvas", "zero") in ("zero", "true", 0)  # the baseline that exact attributions are about
        exact = zero and bool(fact(metric, "exact_on_linear", False))
        best = exact or (zero and bool(fact(metric, "best_on_linear", False)))
        ideal = fact(metric, "ideal")
        return cls(
            higher=fact(metric, "higher_is_better"),
            ideal=float(ideal) if exact and ideal is not None else None,
            best=best,
            prefers=isinstance(metric, ForeignMetric) or best or "truth" in fact(metric, "needs", ()),
            invariant=tuple(fact(metric, "invariant", ())),
            kinds=tuple(fact(metric, "kinds", ("image", "table"))),
        )

    def also(self, given: Mapping[str, Any]) -> Promises:
        """With what is given instead; an ideal to be reached is also the best."""
        known = {name: value for name, value in given.items() if value is not None}
        return replace(self, **({"best": True} if "ideal" in known else {}) | known)


@dataclass(frozen=True, eq=False)
class LadderCase:
    """A metric, asked on every rung of its kind."""

    target: str
    judge: Judge
    promises: Promises
    stacks: bool = True  # several maps of the same samples are asked about in one call, where that changes nothing
    _kept: dict[tuple[Rung, int | None, int], Answer] = field(default_factory=dict)
    _apart: dict[Rung, bool] = field(default_factory=dict)

    @classmethod
    def of(cls, target: str, metric: Any, given: Mapping[str, Any]) -> LadderCase:
        judge = ForeignJudge(metric) if isinstance(metric, ForeignMetric) else OwnJudge(metric)
        return cls(target, judge, Promises.of(metric).also(given))

    @property
    def name(self) -> str:
        return f"{self.target} on linear models"

    def fresh(self) -> LadderCase:
        return self  # models and instances are made anew for every answer

    def fault(self, contract: Callable[..., object], message: str, witness: str = "") -> Fault:
        return Fault(contract.__name__, self.name, message, witness)

    def ask(self, rung: Rung, attribution: Tensor, batch_size: int | None = None, seed: int = 0) -> Answer:
        """The answer to a map; to the exact one it is kept, many contracts ask for it."""
        key = (rung, batch_size, seed)
        if attribution is rung.exact and key in self._kept:
            return self._kept[key]
        still = self.__dict__.get("noisy") is False  # known to draw nothing
        with nullcontext() if still else seeded("ladder", seed):
            answer = self.judge.ask(rung, attribution.clone(), batch_size)
        if attribution is rung.exact:
            self._kept[key] = answer
        return answer

    def draws(self, rung: Rung, attribution: Tensor, batch_size: int | None = None) -> list[Answer]:
        """The answer; of a metric that draws numbers, several."""
        return [self.ask(rung, attribution, batch_size, seed) for seed in range(SEEDS if self.noisy else 1)]

    def attempts(self, rung: Rung, attribution: Tensor, batch_size: int | None = None) -> list[Answer]:
        """The same, and none where an error is raised: that is another contract's business."""
        try:
            return self.draws(rung, attribution, batch_size)
        except Exception:
            return []

    def attempts_at(self, rung: Rung, attributions: Sequence[Tensor]) -> list[list[Answer]]:
        """The same for several maps of the same samples; where there is one score per sample, in a single call."""
        copies, count = len(attributions), len(rung)
        stacked = rung.rows(list(range(count)) * copies)
        together = self.stacks and self._separable(rung)
        answers = self.attempts(stacked, torch.cat(list(attributions))) if together else []
        if not answers or len(answers[0].values) != copies * count:
            return [self.attempts(rung, attribution) for attribution in attributions]
        parts = [slice(start, start + count) for start in range(0, copies * count, count)]
        return [[Answer(one.values[part], True, one.defined[part]) for one in answers] for part in parts]

    @property
    def one_by_one(self) -> LadderCase:
        """The same case, every map asked about in a call of its own."""
        found = replace(self, stacks=False)
        found.__dict__["noisy"] = self.noisy  # known already
        return found

    def _separable(self, rung: Rung) -> bool:
        """One score per sample, and the first one's is the same alone and with a map that is worse: a metric that
        divides by the worst of its batch would be shown wrong on inputs that it judges well."""
        if rung not in self._apart:
            plain = self.attempt(rung, rung.exact)
            self._apart[rung] = not self.noisy and isinstance(plain, Answer) and plain.each and self._alone(rung)
        return self._apart[rung]

    def _alone(self, rung: Rung) -> bool:
        maps = torch.cat([rung.exact[:1], random(rung.exact[:1]), -rung.exact[:1]])
        together = self.attempts(rung.rows([0, 0, 0]), maps)
        alone = [self.attempts(rung.rows([0]), maps[[row]]) for row in range(len(maps))]
        if not together or not all(alone) or len(together[0].values) != len(maps):
            return False
        return all(
            np.allclose(together[0].values[row], found[0].values[0], rtol=1e-4, atol=1e-4, equal_nan=True)
            for row, found in enumerate(alone)
        )

    def draws_after(self, before: Rung, rung: Rung) -> list[Answer]:
        """The answers of instances that have judged other samples before."""
        if not isinstance(self.judge, ForeignJudge):
            raise NotApplicable("is a frozen dataclass: it keeps nothing")
        found = []
        for seed in range(SEEDS if self.noisy else 1):
            with seeded("ladder", seed):
                found.append(self.judge.ask_after(before, rung))
        return found

    @cached_property
    def tried(self) -> tuple[tuple[Rung, Answer | Exception], ...]:
        """Every rung of its kind, and the answer to the exact attribution or what was raised instead."""
        return tuple((rung, self.attempt(rung, rung.exact)) for rung in ladder() if rung.kind in self.promises.kinds)

    def attempt(self, rung: Rung, attribution: Tensor, seed: int = 0) -> Answer | Exception:
        try:
            return self.ask(rung, attribution, seed=seed)
        except Exception as error:
            return error

    @property
    def answered(self) -> tuple[Rung, ...]:
        """Rungs on which there is an answer; where there are none, NotApplicable or Unanswered."""
        found = tuple(rung for rung, answer in self.tried if isinstance(answer, Answer))
        if not found:
            reasons = [answer for _, answer in self.tried if isinstance(answer, NotApplicable)]
            raise reasons[0] if reasons else Unanswered("answers on no rung")
        return found

    @property
    def several(self) -> tuple[Rung, ...]:
        """Those with more than one sample."""
        return tuple(rung for rung in self.answered if len(rung) > 1)

    @cached_property
    def noisy(self) -> bool:
        """True where another global seed changes an answer; ours use none (another contract says so)."""
        if isinstance(self.judge, OwnJudge):
            return False
        for rung in self.answered:
            some = maps.random(rung.exact)
            for attribution in (rung.exact, some):
                with suppress(Exception):
                    first, second = (self.ask(rung, attribution, seed=seed) for seed in range(2))
                    if apart([first], [second], False):
                        return True
        return False

    @property
    def direction(self) -> int:
        if self.promises.higher is None:
            raise NotApplicable("it does not say which direction is better: give --higher or --lower")
        return 1 if self.promises.higher else -1

    def reason(self) -> str:
        """Why the metric does not apply to linear models; empty where it does."""
        try:
            self.answered  # noqa: B018
        except NotApplicable as error:
            return str(error)
        except Unanswered:
            pass
        return ""


Contract = Callable[[LadderCase], Iterator[Fault]]


def asked_again(contract: Contract) -> Contract:
    """What a contract finds with many maps in one call is looked for again with one map a call, and that is told.

    A metric that confuses the samples of a large batch is another contract's business, and no witness of this one.
    """

    @wraps(contract)
    def found(case: LadderCase) -> Iterator[Fault]:
        if any(True for _ in contract(case)):
            yield from contract(case.one_by_one)

    return found


def apart(left: list[Answer], right: list[Answer], noisy: bool) -> bool:
    """True where two answers differ by more than rounding; of a metric that draws, where all draws do."""
    if noisy:
        a, b = ([float(np.mean(answer.means)) for answer in side] for side in (left, right))
        return max(a) < min(b) - close(a) or max(b) < min(a) - close(b)
    one, other = left[0], right[0]
    if one.values.shape != other.values.shape:
        return True
    known = one.defined & other.defined
    same = np.allclose(one.values[known], other.values[known], rtol=CLOSE, atol=CLOSE, equal_nan=True)
    return bool((one.defined != other.defined).any()) or not same


def close(values: Any) -> float:
    """How far two numbers of this size may lie apart."""
    return CLOSE * max(1.0, float(np.abs(np.nan_to_num(values)).max()))
