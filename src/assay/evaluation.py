"""Methods x metrics on a model and rows in memory: what ``assay.evaluate`` does.

A study stores and resumes; this is for a notebook: nothing is written, and one cell that fails stops no other.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from assay.core.build import describe
from assay.core.copies import model_copy
from assay.core.errors import NotApplicable
from assay.core.evidence import Evidence, mean_score
from assay.core.machine import Machine
from assay.core.numbers import state
from assay.core.promises import promised_range
from assay.core.protocols import Probing
from assay.core.query import Query
from assay.core.question import Question
from assay.core.registry import stream_name
from assay.core.setting import Samples, Setting
from assay.core.trial import Scene
from assay.execute.trial import Answer, answered, fit, pose, trial
from assay.report.promises import Said, said
from assay.report.trouble import Outcome, sorted_out
from assay.report.words import bases, share, spread
from assay.stats.intervals import interval

if TYPE_CHECKING:
    import pandas as pd

Array = npt.NDArray[np.generic]


@dataclass(frozen=True, eq=False)
class Judged:
    """One metric's answer about one method."""

    method: str
    metric: str
    status: str  # ok, skipped or failed
    value: float | None = None  # None: defined on no sample
    low: float | None = None  # of the 95 % interval over the samples; None: there is none
    high: float | None = None
    count: int = 0  # samples
    defined: int = 0  # of these, how many the value rests on
    reason: str = ""  # for skipped and failed
    traceback: str = ""  # for failed
    evidence: Evidence | None = None  # per sample: rows "value", "defined", and the metric's own
    curve: Array | None = None
    basis: str = ""  # what the interval is over: samples; "equal": they all have one value, so there is none
    per_seed: tuple[float | None, ...] = ()  # the value once more: one model, one draw of samples

    def __str__(self) -> str:
        if self.status != "ok":
            return self.status
        if self.value is None:
            return "undefined"
        part = f"{self.defined}/{self.count}" if self.defined < self.count else ""
        return " ".join(text for text in (f"{self.value:.3f}", spread(self), part) if text)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What was found, cell by cell."""

    cells: tuple[Judged, ...]
    attributions: Mapping[str, Tensor] = field(default_factory=dict)  # by method, raw
    said: Mapping[str, Said] = field(default_factory=dict)  # by method: its gap to what it promises, and notes

    def __getitem__(self, cell: tuple[str, str]) -> Judged:
        """``evaluation["integrated_gradients", "deletion"]``."""
        for found in self.cells:
            if (found.method, found.metric) == cell:
                return found
        raise KeyError(f"{cell}: nothing was evaluated under these names. frame() lists what was.")

    def frame(self) -> pd.DataFrame:
        """One row per method and metric."""
        import pandas as pd

        names = ("method", "metric", "status", "value", "low", "high", "count", "defined", "basis", "reason")
        rows = [(cell, self.said.get(cell.method, Said())) for cell in self.cells]
        return pd.DataFrame(
            [
                {**{name: getattr(cell, name) for name in names}, "gap": said.gap, "gap_mark": said.mark}
                for cell, said in rows
            ]
        )

    def __repr__(self) -> str:
        metrics = list(dict.fromkeys(cell.metric for cell in self.cells))
        methods = list(dict.fromkeys(cell.method for cell in self.cells))
        gaps = {method: self._gap(method) for method in methods}
        head = ["gap"] if any(gaps.values()) else []
        rows = [["", *head, *metrics]]
        for method in methods:
            rows.append([method, *[gaps[method] for _ in head], *(str(self[method, metric]) for metric in metrics)])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        trouble = sorted_out(Outcome(cell.status, cell.reason, "", cell.method, cell.metric) for cell in self.cells)
        return "\n".join(
            [
                *lines,
                *self._told(),
                *bases((cell.metric, cell) for cell in self.cells),
                *(f"{group.status}: {group}" for group in trouble),
            ]
        )

    def _gap(self, method: str) -> str:
        """How far its attributions are from adding up to what it promises."""
        found = self.said.get(method, Said())
        return "" if found.gap is None else f"{'!' if found.mark else ''}{share(found.gap)}"

    def _told(self) -> Iterator[str]:
        for method, found in self.said.items():
            told = [f"gap {share(found.gap)}, {found.mark}"] if found.mark and found.gap is not None else []
            if told or found.notes:
                yield f"{method}: {'; '.join([*told, *found.notes])}"


def evaluate(
    setting: Setting,
    samples: Samples,
    target: Tensor | None,
    methods: Mapping[str, Any],
    metrics: Mapping[str, Any],
    machine: Machine,
) -> Evaluation:
    """Every metric about every method; ``target`` (B,) is the explained class, None as the setting asks."""
    plain = pose(setting, samples, setting.question, ("method", "plain", "own", 0, 0), machine)
    query = plain if target is None else replace(plain, target=target)
    judges = [_Judge(name, metric, query, samples) for name, metric in metrics.items()]
    cells: list[Judged] = []
    answers: dict[str, Answer] = {}
    pristine = _Pristine(setting)
    for name, method in methods.items():
        cells += _about(name, method, query, judges, answers, pristine)
    facts = {name: {**found.facts(), "block": (0, len(samples))} for name, found in answers.items()}
    return Evaluation(
        tuple(cells),
        {name: found.attribution for name, found in answers.items()},
        {name: said([found]) for name, found in facts.items()},
    )


class _Pristine:
    """The setting as it was given, whatever somebody's code does to the model."""

    def __init__(self, setting: Setting) -> None:
        self._spare = model_copy(setting.model)
        self._setting, self._state = setting, state(setting.model)

    def __call__(self) -> Setting:
        if state(self._setting.model) != self._state:
            self._setting = replace(self._setting, model=model_copy(self._spare))
            self._state = state(self._setting.model)
        return self._setting


def _about(
    name: str, method: Any, query: Query, judges: Sequence[_Judge], answers: dict[str, Answer], pristine: _Pristine
) -> Iterator[Judged]:
    stream = ("method", stream_name("methods", describe(method)), *query.stream[2:])
    query = replace(query, setting=pristine(), stream=stream)
    try:
        if hasattr(method, "fit"):
            stream = ("fit", *query.stream[1:-1])
            query = replace(query, fitted=fit(method, query.setting, query.question, stream, query.machine))
        answers[name] = answered(method, query)
    except Exception as error:
        yield from (_trouble(name, judge.name, error) for judge in judges)
        return
    for judge in judges:
        try:
            yield judge(name, method, replace(query, setting=pristine()), answers[name])
        except Exception as error:
            yield _trouble(name, judge.name, error)


def _trouble(method: str, metric: str, error: Exception) -> Judged:
    if isinstance(error, NotApplicable):
        return Judged(method, metric, "skipped", reason=str(error))
    reason = f"{type(error).__name__}: {error}"
    return Judged(method, metric, "failed", reason=reason, traceback="".join(traceback.format_exception(error)))


class _Judge:
    """A metric at these samples; what no attribution changes is asked of the model once."""

    def __init__(self, name: str, metric: Any, query: Query, samples: Samples) -> None:
        self.name, self.metric = name, metric
        self._probe: Mapping[str, Tensor] | None = None
        stream = ("metric", str(describe(metric)), *query.stream[2:])
        self.scene = Scene(query.setting, samples, query.question, query.target, stream, query.machine)

    def __call__(self, name: str, method: Any, query: Query, answer: Answer) -> Judged:
        scene = replace(self.scene, setting=query.setting, samples=self.scene.samples.copy())
        if self._probe is None and isinstance(self.metric, Probing):
            self._probe = self.metric.probe(scene)
        given = trial(self.metric, method, query, scene, answer.attribution, self._probe, answer.resolution)
        evidence: Evidence = self.metric(given)
        reduce = getattr(self.metric, "reduce", mean_score)
        score, bounds = reduce(evidence), promised_range(self.metric)
        found = interval([evidence], reduce, draws_model=False, bounds=bounds)
        if found is None:
            return Judged(name, self.name, "ok", count=len(evidence), evidence=evidence)
        return Judged(name, self.name, "ok", **vars(found), evidence=evidence, curve=score.curve)


def numbered(found: Iterable[tuple[Any, str]]) -> dict[str, Any]:
    """Components by name; of several with one name, the later ones get a number."""
    known: dict[str, Any] = {}
    for component, name in found:
        again = sum(key == name or key.startswith(f"{name} (") for key in known)
        known[f"{name} ({again + 1})" if again else name] = component
    return known


def predictions(setting: Setting, x: Tensor, machine: Machine) -> Tensor:
    """The class that the model gives every row; 0 where it answers with a value."""
    zeros = torch.zeros(len(x), dtype=torch.long, device=x.device)
    if setting.outputs == "value":
        return zeros
    rows = Samples(x, zeros, None, tuple(range(len(x))))
    query = pose(setting, rows, Question(baseline="zero", target="label"), ("own",), machine)
    return query.outputs(x).argmax(dim=-1)
