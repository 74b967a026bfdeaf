"""How a metric is asked on a rung: ours through a trial, somebody else's through its own call."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from assay.check.rungs import Rung, ladder
from assay.check.snapshot import changed, snapshot
from assay.core.errors import NotApplicable
from assay.core.evidence import Evidence, Score, mean_score
from assay.core.foreign_metrics import ForeignMetric, Material, Numbers, numbers
from assay.core.question import Question
from assay.core.rng import Stream
from assay.core.setting import Samples, Setting, Truth
from assay.core.trial import Scene, Trial, per_feature


@dataclass(frozen=True, eq=False)
class Answer:
    """What a metric returned, as numbers."""

    values: Numbers  # (N, K): a number or a curve per sample; (1, K) for one judgement of all of them
    each: bool  # one row per sample
    defined: npt.NDArray[np.bool_]  # (N,) or (1,): False where the metric says that its value means nothing

    @property
    def means(self) -> Numbers:
        """One number per row."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.values.mean(axis=1))

    def __str__(self) -> str:
        rows = [", ".join(f"{value:.6g}" for value in row) for row in self.values]
        told = [row if known else "undefined" for row, known in zip(rows, self.defined, strict=True)]
        return "[" + (told[0] if len(told) == 1 else ", ".join(f"[{row}]" for row in told)) + "]"


class Judge(Protocol):
    """A metric on the ladder."""

    @property
    def batches(self) -> bool:
        """True where it can be told a batch size."""

    def material(self, rung: Rung, attribution: Tensor) -> Material:
        """What the metric, and a literal version of it, are asked about."""

    def ask(self, rung: Rung, attribution: Tensor, batch_size: int | None = None) -> Answer: ...


@dataclass(frozen=True, eq=False)
class ForeignJudge:
    """Somebody else's metric."""

    metric: ForeignMetric

    @property
    def batches(self) -> bool:
        return self.metric.batches

    def material(self, rung: Rung, attribution: Tensor) -> Material:
        def explain(model: Any, inputs: Any, targets: Any, **_: Any) -> Any:
            shape = (-1, *[1] * rung.weights.dim())
            sign = 1 - 2 * np.asarray(targets).reshape(shape)
            return (sign * rung.weights.numpy() * np.asarray(inputs)).astype(np.float32)

        return Material(rung.model(), rung.x, rung.y, attribution, rung.exact > 0, explain)

    def changes(self, rung: Rung) -> list[str]:
        """What of the model is another thing after it was judged; gradients that lie about harm nobody."""
        material = self.material(rung, rung.exact)
        model = material.model.eval()
        before = snapshot(model)
        with quiet(), suppress(Exception):  # that is another contract's business
            self.metric.ask(material)
        model.zero_grad()
        return changed(before, snapshot(model))

    def ask(self, rung: Rung, attribution: Tensor, batch_size: int | None = None) -> Answer:
        with quiet():
            return self._read(self.metric.ask(self.material(rung, attribution), batch_size), len(rung))

    def ask_after(self, before: Rung, rung: Rung) -> Answer:
        """The answer of an instance that has judged other samples before."""
        with quiet():
            instance = self.metric.make()
            self.metric.ask_instance(instance, self.material(before, before.exact))
            return self._read(self.metric.ask_instance(instance, self.material(rung, rung.exact)), len(rung))

    def _read(self, result: Any, count: int) -> Answer:
        found, per_row = numbers(result)
        each = per_row and self.each and len(found) == count
        values = found.reshape(len(found) if each else 1, -1)
        if not values.size:
            raise ValueError("returned no number at all")
        return Answer(values, each, np.ones(len(values), dtype=bool))

    @cached_property
    def each(self) -> bool:
        """True where the length of what is returned follows the number of samples."""
        for rung in ladder():
            if len(rung) < 3:
                continue
            with suppress(Exception), quiet():
                parts = [rung.rows(range(count)) for count in (2, 3)]
                found = [numbers(self.metric.ask(self.material(part, part.exact))) for part in parts]
                return [len(values) for values, rows in found if rows] == [2, 3]
        return True


@dataclass(frozen=True, eq=False)
class OwnJudge:
    """A metric of a trial, on a model whose answers are probabilities and linear: 0.5 + s w.x, s a power of two.

    Where a metric asks for logits, the model answers with w.x as it is.
    """

    metric: Any
    batches = False

    def material(self, rung: Rung, attribution: Tensor) -> Material:
        return Material(rung.model(rung.scale, 0.5), rung.x, rung.y, rung.scale * attribution)

    def ask(self, rung: Rung, attribution: Tensor, batch_size: int | None = None) -> Answer:
        try:
            evidence: Evidence = self.metric(_trial(rung, self.material(rung, attribution), "probabilities"))
        except NotApplicable as refused:
            if "logits" not in str(refused):
                raise
            evidence = self.metric(_trial(rung, Material(rung.model(), rung.x, rung.y, attribution), "logits"))
        if "value" in evidence.rows:
            return Answer(evidence["value"].astype(np.float64).reshape(len(rung), -1), True, evidence.defined)
        reduce: Callable[[Evidence], Score] = getattr(self.metric, "reduce", mean_score)
        value = reduce(evidence).value
        return Answer(np.array([[value or 0.0]]), False, np.array([value is not None]))


def _trial(rung: Rung, material: Material, outputs: Literal["probabilities", "logits"]) -> Trial:
    readout = "probability" if outputs == "probabilities" else "logit"
    question = Question(readout, 1.0, "zero", "label")
    setting = Setting(
        model=material.model,
        features=rung.features,
        kind=rung.kind,
        question=question,
        classes=("for", "against"),
        background=torch.zeros_like(rung.x[0]),
        outputs=outputs,
    )
    samples = Samples(rung.x, rung.y, Truth(per_feature(rung.exact, rung.features)), rung.indices)
    stream = Stream("metric", "ladder", seed=rung.draw)
    return Trial(Scene(setting, samples, question, rung.y, stream), material.a)


@contextmanager
def quiet() -> Iterator[None]:
    """Code that prints and warns does it to nobody."""
    with redirect_stdout(io.StringIO()), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield
