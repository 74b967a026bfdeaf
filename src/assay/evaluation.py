"""Methods x metrics on a model and rows in memory: what ``assay.evaluate`` does.

A study stores and resumes; this is for a notebook: nothing is written, and one cell that fails stops no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from assay.artifacts.artifact import blocks, own_block
from assay.artifacts.asking import pose
from assay.artifacts.component import Component
from assay.artifacts.evidence import evidence
from assay.artifacts.model import place
from assay.artifacts.score import ScoreArtifact
from assay.artifacts.trial import TrialArtifact, trials
from assay.core.evidence import Evidence, merge
from assay.core.machine import Machine
from assay.core.question import Question
from assay.core.rng import Stream
from assay.core.setting import Samples, Setting
from assay.environments.own import Own
from assay.execute.inline import Memory
from assay.report.promises import Said, said
from assay.report.trouble import Outcome, sorted_out
from assay.report.words import bases, share, spread

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


@dataclass(frozen=True, eq=False)
class InMemory:
    """A model and rows as an environment: what ``own`` is for a study."""

    model: Setting
    rows: Samples

    draws_model: ClassVar[bool] = False
    stream_name: ClassVar[str] = Own.stream_name  # the same random numbers as in a study

    def setting(self, _seed: int, _weights: Mapping[str, Tensor]) -> Setting:
        return self.model

    def sample(self, indices: Sequence[int], _seed: int) -> Samples:
        some, rows = list(indices), self.rows
        target = None if rows.target is None else rows.target[some]
        return Samples(rows.x[some], rows.label[some], None, tuple(some), target)


def evaluate(
    setting: Setting, samples: Samples, methods: Mapping[str, Any], metrics: Mapping[str, Any], machine: Machine
) -> Evaluation:
    """Every metric about every method."""
    where, memory = (
        place(Component("environments", made=InMemory(setting, samples)), 0, 0, machine.dtype),
        Memory(machine),
    )
    cut = blocks(len(samples), own_block(setting.kind), len(samples))
    judges = {name: Component("metrics", made=metric) for name, metric in metrics.items()}
    asked = {
        name: trials(where, Component("methods", made=method), Question(), cut) for name, method in methods.items()
    }
    scores = {
        (method, metric): ScoreArtifact(judge, (tuple(evidence(trial, judge) for trial in found),), len(samples))
        for method, found in asked.items()
        for metric, judge in judges.items()
    }
    memory.realise([*(trial for found in asked.values() for trial in found), *scores.values()])
    answers = {name: found for name, found in asked.items() if all(memory[trial].status == "ok" for trial in found)}
    return Evaluation(
        tuple(_judged(*cell, score, memory) for cell, score in scores.items()),
        {name: _attribution(found, memory) for name, found in answers.items()},
        {name: said([memory[trial].data for trial in found]) for name, found in answers.items()},
    )


def _judged(method: str, metric: str, score: ScoreArtifact, memory: Memory) -> Judged:
    record = memory[score]
    if record.status != "ok":
        return Judged(method, metric, record.status, reason=record.reason, traceback=record.traceback)
    rows = merge([Evidence.from_arrays(memory.arrays(block)) for block in score.evidence[0]])
    data = {**record.data, "per_seed": tuple(record.data["per_seed"])}
    data.pop("ceiling", None)
    data.pop("memory_halved", None)
    return Judged(method, metric, "ok", **data, evidence=rows, curve=memory.arrays(score).get("curve"))


def _attribution(found: Sequence[TrialArtifact], memory: Memory) -> Tensor:
    return torch.cat([torch.from_numpy(memory.arrays(trial)["attribution"]) for trial in found])


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
    query = pose(setting, rows, Question(baseline="zero", target="label"), Stream("own"), machine)
    return query.outputs(x).argmax(dim=-1)
