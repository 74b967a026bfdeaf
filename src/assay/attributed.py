"""An attribution in memory: to be looked at and judged."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from assay.artifacts.artifact import Block
from assay.artifacts.component import Component
from assay.artifacts.evidence import evidence
from assay.artifacts.model import Place
from assay.artifacts.trial import TrialArtifact
from assay.core.build import named
from assay.core.evidence import Evidence, Reduce, Score, mean_score, merge
from assay.core.protocols import Metric
from assay.core.question import Question
from assay.core.setting import Samples, Setting
from assay.core.spec import Value
from assay.core.trial import per_feature
from assay.execute.inline import Memory
from assay.report.promises import Said, said
from assay.report.words import share

if TYPE_CHECKING:
    from PIL.Image import Image

Array = npt.NDArray[np.generic]


@dataclass(frozen=True, eq=False)
class Scored:
    """A metric's answer: per sample, over the set, and the curve where the metric has one."""

    metric: str
    score: Score
    per_sample: Array | None  # None for metrics of a whole set
    defined: npt.NDArray[np.bool_]
    curve: Array | None
    evidence: Evidence  # per sample, the metric's own rows among them
    reduce: Reduce  # what makes a score of evidence

    @property
    def value(self) -> float | None:
        return self.score.value

    def __repr__(self) -> str:
        value = "undefined" if self.value is None else f"{self.value:.4f}"
        return f"{self.metric}: {value} ({self.score.defined} of {self.score.count} samples)"


@dataclass(frozen=True, eq=False)
class Attributed:
    """An attribution of some samples of an environment."""

    method: str
    trials: tuple[TrialArtifact, ...]
    memory: Memory  # where they are

    @property
    def place(self) -> Place:
        return self.trials[0].place

    @cached_property
    def setting(self) -> Setting:
        return self.memory.desk.setting(self.place.model).copied()

    @cached_property
    def samples(self) -> Samples:
        return self.memory.desk.samples(self.place, Block(0, self.trials[-1].block.stop)).copy()

    @cached_property
    def question(self) -> Question:
        return self.trials[0].question.over(self.setting.question)

    @cached_property
    def attribution(self) -> Tensor:
        """Raw and signed, as the method returned it."""
        return torch.cat([self._tensor(trial, "attribution") for trial in self.trials])

    @property
    def promised(self) -> Tensor | None:
        """(B,) what the attribution should add up to, where the method says so."""
        return self._all("promised")

    @property
    def gap(self) -> Tensor | None:
        """(B,) how far the attribution is from adding up to what the method promises."""
        return self._all("gap")

    @property
    def said(self) -> Said:
        """The gap over all samples as a share of what is promised, a mark where it is too large, and notes."""
        return said([self.memory[trial].data for trial in self.trials])

    @property
    def map(self) -> Tensor:
        """One number per feature."""
        return per_feature(self.attribution, self.setting.features)

    def score(self, metric: str | Metric, **params: Value) -> Scored:
        """Judge it: ``score("f1", sign="positive")``, ``score("insertion")``, ``score(my_metric)``."""
        judge, name = named("metrics", metric, params)
        component = Component("metrics", made=judge)
        wanted = [evidence(trial, component) for trial in self.trials]
        self.memory.realise(wanted)
        found = merge([Evidence.from_arrays(self.memory.arrays(part)) for part in wanted])
        reduce = getattr(judge, "reduce", mean_score)
        score = reduce(found)
        return Scored(name, score, found.rows.get("value"), found.defined, score.curve, found, reduce)

    def _tensor(self, trial: TrialArtifact, name: str) -> Tensor:
        return torch.from_numpy(self.memory.arrays(trial)[name])

    def _all(self, name: str) -> Tensor | None:
        if name not in self.memory.arrays(self.trials[0]):
            return None
        return torch.cat([self._tensor(trial, name) for trial in self.trials])

    def picture(self, count: int = 4) -> Image:
        """Input, truth and attribution side by side."""
        from assay.report.gallery import strip
        from assay.report.shown import Shown

        some = min(count, len(self.samples))
        truth = (
            None if self.samples.truth is None else self.samples.truth.of(self.question.readout)[:some].cpu().numpy()
        )
        names = [self.setting.classes[label] for label in self.samples.label[:some]] if self.setting.classes else []
        maps = {self.method: self.map[:some].cpu().numpy()}
        x = self.samples.x[:some].cpu().numpy()
        return strip(Shown("", self.setting.kind, (), tuple(names), x, truth, maps), [self.method])

    def show(self) -> Image:
        """Two lines and a picture (shown by a notebook, or returned to be saved)."""
        print(self)
        return self.picture()

    def _repr_png_(self) -> bytes:
        from io import BytesIO

        buffer = BytesIO()
        self.picture().save(buffer, format="PNG")
        return buffer.getvalue()

    def __repr__(self) -> str:
        lowest, highest = float(self.map.min()), float(self.map.max())
        return (
            f"{self.method} on {len(self.samples)} samples, {self.question.readout} of the {self.question.target}, "
            f"baseline {self.question.baseline}\n"
            f"{tuple(self.map.shape[1:])} features, from {lowest:.4g} to {highest:.4g}{self._completeness()}"
        )

    def _completeness(self) -> str:
        found = self.said
        gap = "" if found.gap is None else f"; completeness gap {share(found.gap)}"
        told = [text for text in (found.mark, *found.notes) if text]
        return f"{gap}{' (' + '; '.join(told) + ')' if told else ''}"
