"""A test of the linearity axiom (Sundararajan et al., 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from assay.core.evidence import Evidence
from assay.core.trial import Trial
from assay.metrics._gap import relative_gap
from assay.metrics._mixture import mixture_setting
from assay.metrics._repeat import comparable_maps
from assay.metrics._rows import rows

ROUNDING = 1e-5  # relative to the size of the maps that are added up


@dataclass(frozen=True)
class AxiomLinearity:
    """How far the attribution of a weighted sum of two scores is from the weighted sum of their attributions.

    The scores f and g are the model's outputs (logits, values or probabilities, as in the method's question) for the
    target and for the next class; the first class follows the last. h = u f + v g is a model of its own, whose last
    layer computes the sum. The error is |A(h) - (u A(f) + v A(g))|, relative to the larger of the two sizes (Euclidean
    norms): 0 where they are equal, 2 where they are opposite. By default h is the difference of two classes: a method
    that ignores the class scores 1. Undefined where both sides are 0, up to rounding. Needs two outputs, and a question
    without temperature or margin, as a sum of models does not carry over to these. Definition ours.
    """

    weights: tuple[float, float] = (1.0, -1.0)  # u for the target's score, v for the next class's

    higher_is_better: ClassVar[bool] = False
    range: ClassVar[tuple[float, float]] = (0.0, 2.0)
    ideal: ClassVar[float] = 0.0
    needs: ClassVar[tuple[str, ...]] = ("model", "method")
    cost: ClassVar[str] = "two more attributions, and a fit"
    invariant: ClassVar[tuple[str, ...]] = ()
    exact_on_linear: ClassVar[bool] = True
    paper: ClassVar[str] = "Axiomatic Attribution for Deep Networks (Sundararajan et al., 2017)"

    def __call__(self, trial: Trial) -> Evidence:
        query = trial.scene.ask(trial.scene.question)
        setting = mixture_setting(query, self.weights)
        next_class = (trial.scene.target + 1) % query.outputs(query.x[:1]).shape[-1]
        first, *others = comparable_maps(trial, trial.again(target=next_class), trial.again(setting=setting))
        second, of_sum = (maps[0] for maps in others)
        parts = self.weights[0] * first, self.weights[1] * second
        sum_of_maps = parts[0] + parts[1]
        rounding = ROUNDING * (parts[0].norm(dim=1) + parts[1].norm(dim=1))
        gap = (of_sum - sum_of_maps).norm(dim=1)
        value, defined = relative_gap(gap, of_sum.norm(dim=1), sum_of_maps.norm(dim=1), rounding)
        return rows(value=value, defined=defined)
