"""Methods x metrics on a model and rows in memory: the work of ``assay.evaluate``.

A study stores and resumes. This is for notebooks: nothing is written, and a cell that fails stops no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from assay.core.evidence import Score
from assay.core.question import Question
from assay.engine.artifacts.component import Component
from assay.engine.artifacts.score import make_score
from assay.engine.artifacts.trial import TrialArtifact, make_trials
from assay.engine.execute.inline import MemoryEngine
from assay.own_model import OwnModel
from assay.report.missing import grouped_by_reason
from assay.report.remarks import MethodRemarks, method_remarks
from assay.report.result_tables import gap_cell
from assay.report.table import Cell, Row, Table, plain_lines
from assay.report.text import interval_notes

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The results of all cells: every method by every metric."""

    cells: tuple[Score, ...]
    attributions: Mapping[str, Tensor] = field(default_factory=dict)  # by method, raw
    remarks: Mapping[str, MethodRemarks] = field(default_factory=dict)  # by method: completeness gap and notes

    def __getitem__(self, names: tuple[str, str]) -> Score:
        """``evaluation["integrated_gradients", "deletion"]``."""
        for cell in self.cells:
            if (cell.method, cell.metric) == names:
                return cell
        raise KeyError(f"{names}: nothing was evaluated under these names. scores() lists what was.")

    def scores(self) -> pd.DataFrame:
        """One row per method and metric."""
        import pandas as pd

        columns = ("method", "metric", "status", "value", "low", "high", "count", "defined", "basis", "reason")
        rows = [(cell, self.remarks.get(cell.method, MethodRemarks())) for cell in self.cells]
        return pd.DataFrame(
            [
                {**{name: getattr(cell, name) for name in columns}, "gap": remarks.gap, "gap_mark": remarks.mark}
                for cell, remarks in rows
            ]
        )

    def samples(self) -> pd.DataFrame:
        """One row per method, metric and sample; one row with the reason where a score was skipped or failed."""
        from assay.report.export import score_samples

        return score_samples(self.cells)

    def __repr__(self) -> str:
        return "\n".join(
            [
                *plain_lines(self._table()),
                *(f"{method}: {remarks}" for method, remarks in self.remarks.items() if str(remarks)),
                *interval_notes((cell.metric, cell) for cell in self.cells),
                *(f"{group.status}: {group}" for group in grouped_by_reason(self.cells)),
            ]
        )

    def _table(self) -> Table:
        metrics = tuple(dict.fromkeys(cell.metric for cell in self.cells))
        methods = tuple(dict.fromkeys(cell.method for cell in self.cells))
        gaps = {method: gap_cell(self.remarks.get(method, MethodRemarks())) for method in methods}
        gap_head = ("gap",) if any(gap.content for gap in gaps.values()) else ()
        rows: tuple[Row, ...] = tuple(
            (method, *(gaps[method] for _ in gap_head), *(Cell(self[method, metric]) for metric in metrics))
            for method in methods
        )
        return Table(("", *gap_head, *metrics), rows)


def evaluate(own: OwnModel, methods: Mapping[str, Any], metrics: Mapping[str, Any]) -> Evaluation:
    """Judge every method by every metric."""
    place, memory = own.place, MemoryEngine(own.machine)
    metric_components = {name: Component("metrics", instance=metric) for name, metric in metrics.items()}
    trials = {
        name: make_trials(place, Component("methods", instance=method), Question(), own.blocks)
        for name, method in methods.items()
    }
    scores = {
        (method, metric): make_score(component, [method_trials], len(own.samples))
        for method, method_trials in trials.items()
        for metric, component in metric_components.items()
    }
    memory.realise([*(trial for method_trials in trials.values() for trial in method_trials), *scores.values()])
    complete = {
        name: method_trials
        for name, method_trials in trials.items()
        if all(memory[trial].status == "ok" for trial in method_trials)
    }
    return Evaluation(
        tuple(memory.score(score, method=method, metric=metric) for (method, metric), score in scores.items()),
        {name: _attribution(method_trials, memory) for name, method_trials in complete.items()},
        {
            name: method_remarks([memory[trial].data for trial in method_trials])
            for name, method_trials in complete.items()
        },
    )


def _attribution(trials: Sequence[TrialArtifact], memory: MemoryEngine) -> Tensor:
    return torch.cat([torch.from_numpy(memory.arrays(trial)["attribution"]) for trial in trials])


def by_name(components: Iterable[tuple[Any, str]]) -> dict[str, Any]:
    """Components by name. Of several with the same name, the later ones get a number."""
    unique: dict[str, Any] = {}
    for component, name in components:
        earlier = sum(key == name or key.startswith(f"{name} (") for key in unique)
        unique[f"{name} ({earlier + 1})" if earlier else name] = component
    return unique
