"""Does a metric prefer true maps to wrong ones, in the direction that it declares?"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from assay.check.contracts.fault import Fault
from assay.check.contracts.metric_case import FEW_INDICES, MANY_INDICES, MetricCase, noise
from assay.core.errors import NotApplicable
from assay.core.facts import fact
from assay.core.question import Question
from assay.core.trial import Scene


def direction(case: MetricCase) -> Iterator[Fault]:
    """The true effects score better than random numbers, and these better than a wrong map, on the mean over samples.

    Wrong is the negated truth or, for metrics that ignore signs, random numbers on the features without an effect:
    whichever scores worse. Metrics that ask the model are held to the first half only, and only where the model's
    answer follows the truth: elsewhere they measure something else. Not tried for metrics that ask the method again,
    ask another model or prepare on other rows: they judge more than one map. Nor for metrics about models, which judge
    none.
    """
    case.plain(FEW_INDICES)
    if fact(case.metric, "higher_is_better") is None:
        raise NotApplicable("does not say which direction is better")
    needs = fact(case.metric, "needs", ())
    again = "method" in needs or getattr(case.metric, "again", False)
    if again or "sibling" in needs or hasattr(case.metric, "prepare") or not fact(case.metric, "prefers_truth", True):
        return
    if fact(case.metric, "about") == "models":
        return
    scene = case.scene(MANY_INDICES)
    uses_truth = "truth" in needs
    if not (uses_truth or (canvas_is_neutral(scene) and answer_follows_truth(scene))):
        return
    random_map = noise(scene, scene.effect.shape[1:])
    truth, random = _oriented_score(case, scene.effect), _oriented_score(case, random_map)
    if truth is None or random is None:
        return  # defined on no sample
    if truth <= random:
        yield case.fault(direction, f"does not prefer the truth ({_comparison(case, truth, random)}) to random numbers")
    if uses_truth and random <= (wrong := _lowest_score(case, [-scene.effect, random_map * (scene.effect == 0)])):
        yield case.fault(
            direction, f"does not prefer random numbers ({_comparison(case, random, wrong)}) to a wrong map"
        )


def canvas_is_neutral(scene: Scene) -> bool:
    """True where the model gives a blank canvas the same answer as the true background."""
    background = scene.setting.background
    if background is None:
        return False
    with torch.no_grad():
        answers = scene.setting.model(torch.stack([background, torch.zeros_like(background)]))
    return bool(torch.allclose(answers[0], answers[1]))


def answer_follows_truth(scene: Scene) -> bool:
    """True where removing a random half of the positive features lowers the answer for most samples.

    False where features cancel one another, as in a count modulo N.
    """
    query = scene.ask(Question(), baseline="zero")
    drop = (scene.effect > 0) & (noise(scene, scene.effect.shape[1:]) > 0)
    without = torch.where(query.setting.features.expand(drop), query.baseline, query.x)
    smaller = (query.score(without) < query.score(query.x))[drop.flatten(1).any(dim=1)]
    return bool(smaller.double().mean() > 0.75)


def _lowest_score(case: MetricCase, attributions: list[Tensor]) -> float:
    scores = [_oriented_score(case, attribution) for attribution in attributions]
    return min(score for score in scores if score is not None)


def _oriented_score(case: MetricCase, attribution: Tensor) -> float | None:
    """The score of a map, negated if lower is better; None if it is defined on no sample."""
    value = case.reduce(case.judge(case.scene(MANY_INDICES), attribution)).value
    sign = 1 if fact(case.metric, "higher_is_better") else -1
    return None if value is None else sign * value


def _comparison(case: MetricCase, left: float, right: float) -> str:
    sign = 1 if fact(case.metric, "higher_is_better") else -1
    return f"{sign * left:.4g} against {sign * right:.4g}, {'higher' if sign > 0 else 'lower'} is better"
