"""An attribution in memory, to be shown and judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from assay.catalogue.build import component_and_name
from assay.core.evidence import Score
from assay.core.protocols import Metric
from assay.core.question import Question
from assay.core.rng import Stream
from assay.core.setting import Samples, Setting
from assay.core.spec import Value
from assay.core.trial import per_feature
from assay.engine.artifacts.answer import make_query
from assay.engine.artifacts.component import Component
from assay.engine.artifacts.model import Place
from assay.engine.artifacts.samples import SamplesArtifact
from assay.engine.artifacts.score import make_score
from assay.engine.artifacts.trial import TrialArtifact
from assay.engine.execute.inline import MemoryEngine
from assay.report.remarks import MethodRemarks, method_remarks
from assay.report.text import percent

if TYPE_CHECKING:
    from PIL.Image import Image

    from assay.report.samples import GallerySamples


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
        """The first samples: input, truth and attribution of images, bars of columns, coloured words, or strips of
        colours below the lines of series."""
        from assay.report.pictures import draw_contact_sheet

        return draw_contact_sheet(self._pictured(count), [self.method])

    def show(self) -> Image:
        """Print two lines and return a picture, which a notebook shows."""
        print(self)
        return self.picture()

    def _repr_png_(self) -> bytes:
        from io import BytesIO

        buffer = BytesIO()
        self.picture().save(buffer, format="PNG")
        return buffer.getvalue()

    def _repr_html_(self) -> str | None:
        """Texts; a notebook shows all else as a picture."""
        from assay.report.words import texts_html

        samples = self._pictured(4)
        return texts_html(samples) if samples.is_text else None

    def _pictured(self, count: int) -> GallerySamples:
        """The first samples, as the gallery of a page has them, with the answers that are explained."""
        from assay.report.samples import read_samples

        kept = SamplesArtifact(self.place, tuple(range(min(count, len(self.samples)))))
        self.memory.realise([kept])
        arrays, facts, shown = self.memory.arrays(kept), self.memory[kept].data, len(kept.indices)
        samples = self.memory.desk.samples(self.place, kept.indices)
        truth = None if self.samples.truth is None else self.samples.truth.of(self.question.readout)[:shown]
        found = read_samples(self._title, facts, arrays, range(shown))
        return replace(
            found,
            classes=(),
            mistakes=(),
            informative=None,
            truth=None if truth is None else truth.cpu().numpy(),
            maps={self.method: self.map[:shown].cpu().double().numpy()},
            indices=kept.indices,
            answers=tuple(self._answers(samples, arrays.get("predicted", np.empty(0)).tolist())),
        )

    @property
    def _title(self) -> str:
        whose = {"predicted": "predicted", "label": "sample's"}.get(self.question.target or "", "explained")
        of_class = "" if self.question.readout == "value" else f" of the {whose} class"
        return f"{self.method} explains the {self.question.readout}{of_class}"

    def _answers(self, samples: Samples, predicted: Sequence[int]) -> Iterator[str]:
        """Which class is explained, the model's answer, and its prediction where that is another class."""
        stream, machine = Stream("answers"), self.memory.desk.machine
        query = make_query(self.setting, samples, self.question, stream, machine)
        outputs = query.outputs(query.x)
        for position, target in enumerate(query.target.tolist()):
            parts = [self._class_name(target)] if outputs.shape[1] > 1 else []
            parts.append(f"{self.question.readout} {float(outputs[position, target]):.3g}")
            wrong = position < len(predicted) and predicted[position] != target
            yield ", ".join([*parts, *([f"predicted: {self._class_name(predicted[position])}"] if wrong else [])])

    def _class_name(self, number: int) -> str:
        noun = "output" if self.setting.outputs == "value" else "class"
        return self.setting.classes[number] if self.setting.classes else f"{noun} {number}"

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
