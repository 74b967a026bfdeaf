"""A metric's own question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from assay.core.errors import NotApplicable
from assay.core.query import Query
from assay.core.question import Question
from assay.core.trial import Scene
from assay.metrics._fill import Removal, need_images, painted


def ask(scene: Scene, readout: str | None, temperature: float | None, canvas: str | float) -> Query:
    """The query of a metric with its own readout and replacement; None leaves it to the environment."""
    own = painted(scene, canvas)
    if canvas == "impute":
        raise NotApplicable("canvas='impute' fills holes in an input, and this metric needs a whole canvas: write blur")
    question = Question(readout=readout, temperature=temperature)
    query = scene.ask(question, baseline=canvas if own is None else "zero")
    if query.question.readout == "probability" and not classifies(query):
        raise NotApplicable(
            "needs class probabilities, and this model has none; a metric with a parameter 'readout' can be asked "
            "about the value: write readout='value' in its parentheses"
        )
    return query if own is None else replace(query, baseline=own)


def ask_without(
    scene: Scene, readout: str | None, temperature: float | None, canvas: str | float, jitter: float
) -> Removal:
    """The same for metrics that remove features: they may be imputed."""
    if canvas != "impute":
        return Removal(ask(scene, readout, temperature, canvas))
    need_images(scene.setting, "impute")
    query = ask(scene, readout, temperature, "zero")
    noise = jitter * scene.draws("imputation").normal(*scene.setting.features.entries)
    return Removal(query, noise.to(query.x))


def ask_classes(scene: Scene, readout: str | None, canvas: str | float, jitter: float, what: str) -> Removal:
    """The same for metrics that need to know which class the model chooses."""
    if not classifies(ask(scene, "value", None, "zero")):
        raise NotApplicable(f"needs a classifier: {what}")
    return ask_without(scene, readout, None, canvas, jitter)


def classifies(query: Query) -> bool:
    """False for a regression: asked about its value, or with one output (whose softmax is always 1)."""
    value = "value" in (query.setting.outputs, query.setting.question.readout)
    return not value and query.outputs(query.x[:1]).shape[-1] > 1


def correctness(query: Query, label: Tensor) -> Callable[[Tensor], Tensor]:
    """Reads off points (K, B, *entries) whether the model chooses the true class: (K, B), 1 or 0, NaN: no answer."""

    def read(points: Tensor) -> Tensor:
        outputs = query.outputs(points)
        right = (outputs.argmax(dim=-1) == label).double()
        return right.where(outputs.isfinite().all(dim=-1), torch.nan)

    return read
