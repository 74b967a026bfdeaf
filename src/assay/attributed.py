"""An attribution in memory, to be shown and judged."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from assay.catalogue.build import component_and_name
from assay.core.evidence import Score
from assay.core.protocols import Metric
from assay.core.question import Question
from assay.core.setting import Samples, Setting
from assay.core.spec import Value
from assay.core.trial import per_feature
from assay.engine.artifacts.component import Component
from assay.engine.artifacts.model import Place
from assay.engine.artifacts.score import make_score
from assay.engine.artifacts.trial import TrialArtifact
from assay.engine.execute.inline import MemoryEngine
from assay.report.remarks import MethodRemarks, method_remarks
from assay.report.text import percent

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True, eq=False)
class Attributed:
    """A method's attribution of the first samples of an environment."""

    method: str
    trials: tuple[TrialArtifact, ...]
    memory: MemoryEngine  # holds the trials

    @property
    def place(self) -> Place:
        return self.trials[0].place

    @cached_property
    def setting(self) -> Setting:
        return self.memory.desk.setting(self.place.model).copied()

    @cached_property
    def samples(self) -> Samples:
        return self.memory.desk.samples(self.place, range(self.trials[-1].block.stop)).copy()

    @cached_property
    def question(self) -> Question:
        return self.trials[0].question.over(self.setting.question)

    @cached_property
    def attribution(self) -> Tensor:
        """Raw and signed, as the method returned it."""
        return torch.cat([self._tensor(trial, "attribution") for trial in self.trials])

    @property
    def promised(self) -> Tensor | None:
        """(B,) the sum that the attribution should have, where the method promises one."""
        return self._concatenated("promised")

    @property
    def gap(self) -> Tensor | None:
        """(B,) the attribution's sum minus the promised sum."""
        return self._concatenated("gap")

    @property
    def remarks(self) -> MethodRemarks:
        """The gap over all samples as a share of the promised sums, a mark where it is too large, and notes."""
        return method_remarks([self.memory[trial].data for trial in self.trials])

    @property
    def map(self) -> Tensor:
        """One number per feature."""
        return per_feature(self.attribution, self.setting.features)

    def score(self, metric: str | Metric, **params: Value) -> Score:
        """Judge it: ``score("f1", sign="positive")``, ``score("insertion")``, ``score(my_metric)``."""
        instance, name = component_and_name("metrics", metric, params)
        artifact = make_score(Component("metrics", instance=instance), [self.trials], self.trials[-1].block.stop)
        self.memory.realise([artifact])
        return self.memory.score(artifact, method=self.method, metric=name)

    def _tensor(self, trial: TrialArtifact, name: str) -> Tensor:
        return torch.from_numpy(self.memory.arrays(trial)[name])

    def _concatenated(self, name: str) -> Tensor | None:
        if name not in self.memory.arrays(self.trials[0]):
            return None
        return torch.cat([self._tensor(trial, name) for trial in self.trials])

    def picture(self, count: int = 4) -> Image:
        """Input, truth and attribution side by side."""
        from assay.report.pictures import draw_contact_sheet
        from assay.report.samples import GallerySamples

        limit = min(count, len(self.samples))
        truth = (
            None if self.samples.truth is None else self.samples.truth.of(self.question.readout)[:limit].cpu().numpy()
        )
        names = [self.setting.classes[label] for label in self.samples.label[:limit]] if self.setting.classes else []
        maps = {self.method: self.map[:limit].cpu().numpy()}
        x = self.samples.x[:limit].cpu().numpy()
        return draw_contact_sheet(
            GallerySamples(
                "", self.setting.kind, (), tuple(names), x, truth, maps, indices=self.samples.indices[:limit]
            ),
            [self.method],
        )

    def show(self) -> Image:
        """Print two lines and return a picture, which a notebook shows."""
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
        remarks = self.remarks
        gap = "" if remarks.gap is None else f"; completeness gap {percent(remarks.gap)}"
        texts = [text for text in (remarks.mark, *remarks.notes) if text]
        return f"{gap}{' (' + '; '.join(texts) + ')' if texts else ''}"
