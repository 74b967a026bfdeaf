"""How a metric judges a linear problem: our own through a trial, another package's through its own call."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
from torch import Tensor

from assay.check.instruments.snapshot import changed_parts, snapshot
from assay.check.linear.linear_models import SEED, LinearProblem, linear_problems
from assay.core.errors import NotApplicable
from assay.core.evidence import Evidence, Score, mean_score
from assay.core.question import Question
from assay.core.rng import Stream
from assay.core.trial import Scene, Trial
from assay.foreign.metrics import ForeignMetric, MetricInputs, Numbers, as_numbers
from assay.stats.damage import NO_POINTS, curve_points


@dataclass(frozen=True, eq=False)
class Answer:
    """The numbers that a metric returned."""

    values: Numbers  # (N, K): a number or a curve per sample; (1, K) if it scores all samples at once
    per_sample: bool  # True for one row per sample
    defined: npt.NDArray[np.bool_]  # (N,) or (1,): False where the metric declares its value undefined

    @property
    def means(self) -> Numbers:
        """The mean of every row (N,) or (1,)."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.values.mean(axis=1))

    def __str__(self) -> str:
        rows = [", ".join(f"{value:.6g}" for value in row) for row in self.values]
        texts = [row if defined else "undefined" for row, defined in zip(rows, self.defined, strict=True)]
        return "[" + (texts[0] if len(texts) == 1 else ", ".join(f"[{text}]" for text in texts)) + "]"


class MetricCall(Protocol):
    """How to ask one metric about a linear problem."""

    @property
    def batches(self) -> bool:
        """True where the call takes a batch size."""

    def inputs(self, problem: LinearProblem, attribution: Tensor) -> MetricInputs:
        """The arguments of the metric and of its literal version."""

    def ask(self, problem: LinearProblem, attribution: Tensor, batch_size: int | None = None) -> Answer: ...

    def curve(self, problem: LinearProblem, attribution: Tensor) -> Numbers:
        """The points (K, 2) of the curve of all samples; none where the answer is all there is."""


@dataclass(frozen=True, eq=False)
class ForeignMetricCall:
    """A metric of another package, called with a model, samples, classes and attributions."""

    metric: ForeignMetric

    @property
    def batches(self) -> bool:
        return self.metric.batches

    def inputs(self, problem: LinearProblem, attribution: Tensor) -> MetricInputs:
        def explain(model: Any, inputs: Any, targets: Any, **_: Any) -> Any:
            shape = (-1, *[1] * problem.weights.dim())
            sign = 1 - 2 * np.asarray(targets).reshape(shape)
            return (sign * problem.weights.numpy() * np.asarray(inputs)).astype(np.float32)

        return MetricInputs(problem.model(), problem.x, problem.y, attribution, problem.exact > 0, explain)

    def model_changes(self, problem: LinearProblem) -> list[str]:
        """Parts of the model that differ after the call; gradients of weights do not count."""
        inputs = self.inputs(problem, problem.exact)
        model = inputs.model.eval()
        before = snapshot(model)
        with quiet(), suppress(Exception):  # reported by ``answers``
            self.metric.ask(inputs)
        model.zero_grad()
        return changed_parts(before, snapshot(model))

    def ask(self, problem: LinearProblem, attribution: Tensor, batch_size: int | None = None) -> Answer:
        with quiet():
            return self._as_answer(self.metric.ask(self.inputs(problem, attribution), batch_size), len(problem))

    def curve(self, problem: LinearProblem, attribution: Tensor) -> Numbers:
        return NO_POINTS

    def ask_after(self, before: LinearProblem, problem: LinearProblem) -> Answer:
        """The answer of an instance that judged another problem before."""
        with quiet():
            instance = self.metric.make()
            self.metric.ask_instance(instance, self.inputs(before, before.exact))
            return self._as_answer(
                self.metric.ask_instance(instance, self.inputs(problem, problem.exact)), len(problem)
            )

    def _as_answer(self, result: Any, count: int) -> Answer:
        numbers, per_row = as_numbers(result)
        per_sample = per_row and self.per_sample and len(numbers) == count
        values = numbers.reshape(len(numbers) if per_sample else 1, -1)
        if not values.size:
            raise ValueError("returned no number at all")
        return Answer(values, per_sample, np.ones(len(values), dtype=bool))

    @cached_property
    def per_sample(self) -> bool:
        """True where the metric returns 2 rows for 2 samples and 3 rows for 3."""
        for problem in linear_problems():
            if len(problem) < 3:
                continue
            with suppress(Exception), quiet():
                parts = [problem.rows(range(count)) for count in (2, 3)]
                results = [as_numbers(self.metric.ask(self.inputs(part, part.exact))) for part in parts]
                return [len(values) for values, per_row in results if per_row] == [2, 3]
        return True


@dataclass(frozen=True, eq=False)
class TrialMetricCall:
    """A metric that is called with a trial, of a model whose probabilities are linear: 0.5 + s w.x, s a power of two.

    If the metric asks for logits, the model answers with w.x.
    """

    metric: Any
    batches = False

    def inputs(self, problem: LinearProblem, attribution: Tensor) -> MetricInputs:
        return MetricInputs(problem.model(problem.scale, 0.5), problem.x, problem.y, problem.scale * attribution)

    def ask(self, problem: LinearProblem, attribution: Tensor, batch_size: int | None = None) -> Answer:
        evidence = self._evidence(problem, attribution)
        if "value" in evidence.rows:
            return Answer(evidence["value"].astype(np.float64).reshape(len(problem), -1), True, evidence.defined)
        value = self._reduced(evidence).value
        return Answer(np.array([[value or 0.0]]), False, np.array([value is not None]))

    def curve(self, problem: LinearProblem, attribution: Tensor) -> Numbers:
        evidence = self._evidence(problem, attribution)
        score = self._reduced(evidence)
        if score.curve is None:
            return NO_POINTS
        return curve_points(score if score.at is not None else replace(score, at=evidence.axis["curve"]))

    def _reduced(self, evidence: Evidence) -> Score:
        reduce: Callable[[Evidence], Score] = getattr(self.metric, "reduce", mean_score)
        return reduce(evidence)

    def _evidence(self, problem: LinearProblem, attribution: Tensor) -> Evidence:
        inputs = self.inputs(problem, attribution)
        try:
            evidence: Evidence = self.metric(_make_trial(problem, inputs, "probabilities"))
        except NotApplicable as error:
            if "logits" not in str(error):
                raise
            inputs = MetricInputs(problem.model(), problem.x, problem.y, attribution)
            evidence = self.metric(_make_trial(problem, inputs, "logits"))
        return evidence


def _make_trial(problem: LinearProblem, inputs: MetricInputs, outputs: Literal["probabilities", "logits"]) -> Trial:
    readout = "probability" if outputs == "probabilities" else "logit"
    question = Question(readout, 1.0, "zero", "label")
    setting = replace(problem.environment.setting(SEED, {}), model=inputs.model, question=question, outputs=outputs)
    samples = replace(problem.samples, label=problem.y, target=None)
    # "ladder" only names the stream: another word would draw other numbers.
    stream = Stream("metric", "ladder", seed=problem.seed)
    return Trial(Scene(setting, samples, question, problem.y, stream), inputs.a)


@contextmanager
def quiet() -> Iterator[None]:
    """Suppresses output and warnings."""
    with redirect_stdout(io.StringIO()), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield
