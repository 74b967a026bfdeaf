"""A metric's own question."""

from __future__ import annotations

from assay.core.errors import NotApplicable
from assay.core.query import Query
from assay.core.question import Question
from assay.core.trial import Scene


def ask(scene: Scene, readout: str | None, temperature: float | None, canvas: str | float) -> Query:
    """The query of a metric with its own readout and replacement; None leaves it to the environment."""
    query = scene.ask(Question(readout=readout, temperature=temperature), baseline=canvas)
    if query.question.readout == "probability" and not classifies(query):
        raise NotApplicable("needs class probabilities, and this model has none: ask for readout='value'")
    return query


def classifies(query: Query) -> bool:
    """False for a regression: asked about its value, or with one output (whose softmax is always 1)."""
    value = "value" in (query.setting.outputs, query.setting.question.readout)
    return not value and query.outputs(query.x[:1]).shape[-1] > 1
