"""The accuracy of the model, its sibling, the rule that drew the labels, or of giving the most frequent label."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.evidence import Evidence
from assay.core.facts import Varies
from assay.core.question import Question
from assay.core.setting import Reference
from assay.core.trial import Scene, Trial
from assay.kit.grid_cells import feature_cells
from assay.metrics._parts import only, part_of
from assay.metrics._removal import classifies
from assay.metrics._rows import rows
from assay.metrics._sibling import sibling_scene


@dataclass(frozen=True)
class Accuracy:
    """1 where the label is among the ``k`` classes with the highest outputs, else 0. Of equal outputs the first counts.

    ``of='sibling'`` asks the other model for the same samples: the one before retraining, for example. ``of='gain'`` is
    the model's value minus the sibling's, sample by sample: its interval is that of the difference. Guessing reaches
    1 / classes where these are equally frequent. ``of='rule'`` asks the scores without noise by which the labels were
    drawn: what no model can exceed by more than chance. A model below it has errors that are not label noise.
    ``of='majority'`` always answers with the label that most reference rows have: a model below it is worse than one
    that reads no input.

    On training rows every sample has the same value, the share of all of them. ``keep`` shows one part of each input
    alone, ``without='cell'`` all but one cell of a grid: then the value is the share of cells without which the answer
    is right. What is not shown gets the environment's baseline. In tables and texts every feature is a cell.

    Says nothing about the attribution: it is the same for every method. Undefined where an output is not finite.
    """

    of: Literal["model", "sibling", "gain", "rule", "majority"] = "model"  # who answers; gain: model minus sibling
    on: Literal["samples", "training"] = "samples"  # the evaluated samples, or the reference rows
    keep: str = ""  # the only part that is shown, where an environment names parts; empty: complete inputs
    k: int = 1  # classes that an answer may name
    without: Literal["cell"] | None = None  # what inputs lack: each cell in turn, or nothing
    grid: tuple[int, int] = (4, 4)  # rows and columns of cells, without='cell'

    higher_is_better: ClassVar[bool] = True
    about: ClassVar[str] = "models"  # a method is not better for it
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    ideal: ClassVar[float] = 1.0
    needs: ClassVar[tuple[str, ...]] = ("model", "label")
    invariant: ClassVar[tuple[str, ...]] = ("scale", "shift", "monotone")
    varies: ClassVar[Varies] = (("of", "gain", {"range": (-1.0, 1.0), "ideal": None}),)
    exact_on_linear: ClassVar[bool] = False
    cost: ClassVar[str] = "1 model row a sample or a reference row, or one a cell, shared by all methods"
    paper: ClassVar[str] = "AGOP-IxG (Katakam, 2026), section 4.4; arXiv:2605.15700"

    def __post_init__(self) -> None:
        if self.k < 1 or min(self.grid) < 1:
            raise SpecError(f"accuracy: k={self.k} and both numbers of grid={self.grid} must be at least 1.")

    def probe(self, scene: Scene) -> dict[str, Tensor]:
        """Whether each sample is predicted correctly (B,), or its share of cells."""
        if self.on == "samples":
            return {"correct": self._correct(scene, scene.samples.x, scene.samples.label)}
        reference = _reference(scene, "on='training'")
        return {"correct": self._correct(scene, reference.x, reference.label).mean().expand(len(scene.samples)).clone()}

    def __call__(self, trial: Trial) -> Evidence:
        correct = (trial.probe or self.probe(trial.scene))["correct"]
        defined = correct.isfinite()
        return rows(value=correct.where(defined, 0.0), defined=defined)

    def _correct(self, scene: Scene, x: Tensor, label: Tensor) -> Tensor:
        """(N,): the value of every row, NaN where there is no finite answer."""
        if self.of == "gain":
            now, before = (replace(self, of=who)._correct(scene, x, label) for who in ("model", "sibling"))
            return now - before
        if self.keep:
            x = only(scene.setting, part_of(scene.setting, self.keep), x)
        if self.without is None:
            return self._right(self._outputs(scene, x, label), label)
        cells = feature_cells(scene.setting.features, self.grid).to(x.device)
        shown = (only(scene.setting, cells != cell, x) for cell in cells.unique())
        return torch.stack([self._right(self._outputs(scene, some, label), label) for some in shown]).mean(dim=0)

    def _outputs(self, scene: Scene, x: Tensor, label: Tensor) -> Tensor:
        """(N, classes): the higher, the sooner the class is named."""
        if self.of == "sibling":
            scene = sibling_scene(scene)
        if self.of in ("model", "sibling"):
            if not classifies(scene):
                raise NotApplicable("needs a classifier, and this model answers with a value")
            return scene.ask(Question("value"), baseline="zero").outputs(x)
        if self.of == "majority":
            known = _reference(scene, "of='majority'").label
            return known.bincount(minlength=int(label.max()) + 1).double().expand(len(x), -1)
        if scene.setting.rule is None:
            raise NotApplicable("of='rule' needs a known rule that drew the labels, and this environment has none")
        return scene.setting.rule(x)

    def _right(self, outputs: Tensor, label: Tensor) -> Tensor:
        """(N,): 1 where fewer than k classes are named before the label, else 0; NaN where an output is not finite."""
        classes = outputs.shape[1]
        if 1 < classes <= self.k and self.of != "majority":
            raise NotApplicable(f"k={self.k} needs more than {self.k} classes, and there are {classes}")
        own = outputs.gather(1, label[:, None])
        first = torch.arange(classes, device=label.device) < label[:, None]
        right = ((outputs > own) | (outputs == own) & first).sum(dim=1) < self.k
        return right.double().where(outputs.isfinite().all(dim=1), torch.nan)


def _reference(scene: Scene, asked: str) -> Reference:
    if scene.setting.reference is None:
        raise NotApplicable(f"{asked} needs reference rows, and this environment has none")
    return scene.setting.reference
