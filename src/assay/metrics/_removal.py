"""What replaces removed features, and the model's answers without them."""

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
from assay.kit.blur import blur

CANVASES = (*BASELINES, "blur", "noise", "impute")
SIDE = 224  # pixels along a side of the images that SIGMA and REACH are for; both scale with the shorter side
REACH = 25  # a kernel of 51 pixels
# IDSDS has sigma 41 but divides by 2 sigma before squaring, where a Gaussian divides by sqrt(2) sigma.
SIGMA = 41 * sqrt(2)

Read = Callable[[Tensor], Tensor]  # points (K, B, *entries) -> (K, B, ...)


@dataclass(frozen=True, eq=False)
class Removal:
    """Inputs without some of their features, and the question that a metric asks about them.

    A removed feature shows the canvas, which is the query's baseline: a constant, the environment's background, the
    mean of the reference rows, uniform noise (one picture for all samples, or one for each), or the blurred input.

    Or it is imputed by noisy linear imputation (Rong et al., 2022): a removed pixel is the weighted mean of its eight
    neighbours, plus noise that depends on the sample but not on the set of removed pixels. If no pixel is left to
    impute from, the result is the noise alone (ours).
    """

    query: Query
    noise: Tensor | None = None  # (B, *entries), added to imputed pixels; None: a canvas is used

    @classmethod
    def of(
        cls,
        scene: Scene,
        canvas: str | float,
        question: Question = Question(),
        jitter: float | None = None,
        classes: str = "",
    ) -> Removal:
        """The removal of features from the samples of a scene.

        ``question``: what it leaves open is filled in from the environment's question. ``jitter``: deviation of the
        noise on imputed pixels; None for metrics that need a whole canvas. ``classes``: why a metric needs a
        classifier.
        """
        if classes and not classifies(scene):
            raise NotApplicable(f"needs a classifier: {classes}")
        if isinstance(canvas, str) and canvas not in CANVASES:
            choices = f"{', '.join(CANVASES)} or a number"
            raise SpecError(f"no canvas '{canvas}'.{suggest(canvas, CANVASES)} Known: {choices}.")
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
        """Removed features (K, B, *features) -> inputs (K, B, *entries); with a canvas, (K, 1, *features) is enough."""
        removed_entries = self.query.setting.features.expand(removed)
        if self.noise is None:
            return torch.where(removed_entries, self.query.baseline, self.query.x)
        return torch.where(removed_entries, self._imputed(removed) + self.noise, self.query.x)

    def each(self, count: int, removed: Callable[[slice], Tensor], read: Read) -> Tensor:
        """What is read (count, B, ...) off inputs that are made part by part."""
        return torch.cat([read(self(removed(part))) for part in self.query.parts(count)])

    def _imputed(self, removed: Tensor) -> Tensor:
        from assay.kit.imputation.impute import impute  # compiles on the first call

        images, holes = self.query.x.expand(len(removed), *self.query.x.shape), removed.flatten(2)
        imputable = ~holes.all(dim=2)
        imputed = torch.zeros_like(images)
        imputed[imputable] = impute(images[imputable], removed[imputable]).to(imputed)
        return imputed


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
    """False for a regression: the question is about its value, or it has one output (whose softmax is always 1)."""
    if "value" in (scene.setting.outputs, scene.setting.question.readout):
        return False
    query = scene.ask(Question("value"), baseline="zero")
    return query.outputs(query.x[:1]).shape[-1] > 1


def correctness(query: Query, label: Tensor) -> Read:
    """Reads whether the model chooses the true class: (K, B), 1 or 0, NaN where it has no finite answer."""

    def read(points: Tensor) -> Tensor:
        outputs = query.outputs(points)
        correct = (outputs.argmax(dim=-1) == label).double()
        return correct.where(outputs.isfinite().all(dim=-1), torch.nan)

    return read
