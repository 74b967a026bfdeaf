"""What stands where a feature was removed, and what the model then says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import sqrt

import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError, suggest
from assay.core.query import Query
from assay.core.question import BASELINES, Question
from assay.core.setting import Setting
from assay.core.trial import Scene
from assay.kit.smooth import blur

CANVASES = (*BASELINES, "blur", "noise", "impute")
SIDE = 224  # pixels of the images that the blur's width is given for; it grows with the shorter side
REACH = 25  # a kernel of 51 pixels
# IDSDS writes sigma 41 and divides by 2 sigma before it squares, where a Gaussian divides by sqrt(2) sigma.
SIGMA = 41 * sqrt(2)

Read = Callable[[Tensor], Tensor]  # points (K, B, *entries) -> (K, B, ...)


@dataclass(frozen=True, eq=False)
class Removal:
    """Inputs without some of their features, and the question that a metric asks about them.

    A removed feature shows the canvas, which is the query's baseline: a constant, the environment's background, the
    mean of the reference rows, uniform noise (one picture for all, or each sample's own), the blurred input.

    Or it is imputed, by noisy linear imputation (Rong et al., 2022): a removed pixel is the weighted mean of its eight
    neighbours, plus noise that is the sample's own, the same for every set of removed pixels. Where no pixel is left to
    impute from, there is nothing but noise (ours).
    """

    query: Query
    noise: Tensor | None = None  # (B, *entries) on imputed pixels; None: there is a canvas

    @classmethod
    def of(
        cls,
        scene: Scene,
        canvas: str | float,
        question: Question = Question(),
        jitter: float | None = None,
        classes: str = "",
    ) -> Removal:
        """What ``question`` leaves open is asked as the environment asks it. ``jitter`` is the deviation of the noise
        on imputed pixels; None for metrics that need a whole canvas. ``classes`` is why a metric needs a classifier."""
        if classes and not classifies(scene):
            raise NotApplicable(f"needs a classifier: {classes}")
        if isinstance(canvas, str) and canvas not in CANVASES:
            known = f"{', '.join(CANVASES)} or a number"
            raise SpecError(f"no canvas '{canvas}'.{suggest(canvas, CANVASES)} Known: {known}.")
        query = scene.ask(question, baseline=canvas if canvas not in ("blur", "noise", "impute") else "zero")
        if query.question.readout == "probability" and not classifies(scene):
            raise NotApplicable(
                "needs class probabilities, and this model has none; a metric with a parameter 'readout' can be asked "
                "about the value: write readout='value' in its parentheses"
            )
        entries = scene.setting.features.entries
        if canvas == "blur":
            return cls(replace(query, baseline=_blurred(need_images(scene.setting, "blur"), query.x)))
        if canvas == "noise":
            return cls(replace(query, baseline=(2 * scene.draws("canvas").uniform(*entries) - 1).to(query.x)))
        if canvas == "impute":
            if jitter is None:
                raise NotApplicable(
                    "canvas='impute' fills holes in an input, and this metric needs a whole canvas: write canvas='blur'"
                )
            need_images(scene.setting, "impute")
            return cls(query, (jitter * scene.draws("imputation").normal(*entries)).to(query.x))
        return cls(query)

    def __call__(self, removed: Tensor) -> Tensor:
        """Features (K, B, *features) that are removed -> inputs (K, B, *entries); K, 1 will do on a canvas."""
        gone = self.query.setting.features.expand(removed)
        if self.noise is None:
            return torch.where(gone, self.query.baseline, self.query.x)
        return torch.where(gone, self._imputed(removed) + self.noise, self.query.x)

    def each(self, count: int, removed: Callable[[slice], Tensor], read: Read) -> Tensor:
        """What is read (count, B, ...) at inputs that are made part by part."""
        return torch.cat([read(self(removed(part))) for part in self.query.parts(count)])

    def _imputed(self, removed: Tensor) -> Tensor:
        from assay.kit.impute import impute  # compiles on the first call

        images, holes = self.query.x.expand(len(removed), *self.query.x.shape), removed.flatten(2)
        some = ~holes.all(dim=2)
        found = torch.zeros_like(images)
        found[some] = impute(images[some], removed[some]).to(found)
        return found


def _blurred(setting: Setting, x: Tensor) -> Tensor:
    share = min(setting.features.shape) / SIDE
    reach = max(1, round(REACH * share))
    return blur(x.flatten(0, 1), SIGMA * share, reach).view_as(x)


def need_images(setting: Setting, canvas: str) -> Setting:
    if setting.kind != "image":
        raise NotApplicable(
            f"canvas='{canvas}' needs images, and this is {setting.kind} data: write canvas='zero', or 'mean'"
        )
    return setting


def classifies(scene: Scene) -> bool:
    """False for a regression: asked about its value, or with one output (whose softmax is always 1)."""
    if "value" in (scene.setting.outputs, scene.setting.question.readout):
        return False
    query = scene.ask(Question("value"), baseline="zero")
    return query.outputs(query.x[:1]).shape[-1] > 1


def correctness(query: Query, label: Tensor) -> Read:
    """Reads whether the model chooses the true class: (K, B), 1 or 0, NaN: no answer."""

    def read(points: Tensor) -> Tensor:
        outputs = query.outputs(points)
        right = (outputs.argmax(dim=-1) == label).double()
        return right.where(outputs.isfinite().all(dim=-1), torch.nan)

    return read
