"""Does a metric prefer right to wrong, in the direction that it declares?"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from assay.check.fault import Fault
from assay.check.metric_case import FEW, MANY, MetricCase, noise
from assay.core.errors import NotApplicable
from assay.core.promises import fact
from assay.core.question import Question
from assay.core.trial import Scene


def direction(case: MetricCase) -> Iterator[Fault]:
    """The true effects beat random numbers and these beat a wrong map, on the mean over samples.

    Wrong is the truth negated or, for metrics that ignore signs, random numbers on the features that do nothing:
    whichever the metric likes less. Metrics that ask the model are held to the first half only, and only where the
    model's answer shows the truth: elsewhere it is something else that they measure. Metrics that ask the method again,
    ask another model or prepare on other rows judge more than a map: they are held to nothing here.
    """
    case.plain(FEW)
    if fact(case.metric, "higher_is_better") is None:
        raise NotApplicable("does not say which direction is better")
    needs = fact(case.metric, "needs", ())
    again = "method" in needs or getattr(case.metric, "again", False)
    if again or "sibling" in needs or hasattr(case.metric, "prepare") or not fact(case.metric, "prefers_truth", True):
        return
    scene = case.scene(MANY)
    judges_by_truth = "truth" in needs
    if not (judges_by_truth or (canvas_is_neutral(scene) and answer_follows_truth(scene))):
        return
    some = noise(scene, scene.effect.shape[1:])
    truth, random = _liking(case, scene.effect), _liking(case, some)
    if truth is None or random is None:
        return  # defined on no sample
    if truth <= random:
        yield case.fault(direction, f"does not prefer the truth ({_told(case, truth, random)}) to random numbers")
    if judges_by_truth and random <= (wrong := _least_liked(case, [-scene.effect, some * (scene.effect == 0)])):
        yield case.fault(direction, f"does not prefer random numbers ({_told(case, random, wrong)}) to a wrong map")


def canvas_is_neutral(scene: Scene) -> bool:
    """The model answers a blank canvas as it answers the true background."""
    background = scene.setting.background
    if background is None:
        return False
    with torch.no_grad():
        answers = scene.setting.model(torch.stack([background, torch.zeros_like(background)]))
    return bool(torch.allclose(answers[0], answers[1]))


def answer_follows_truth(scene: Scene) -> bool:
    """Without a random half of the features that speak for it, the answer is smaller for most samples.

    Not so where features undo one another, as in a count modulo N.
    """
    query = scene.ask(Question(), baseline="zero")
    drop = (scene.effect > 0) & (noise(scene, scene.effect.shape[1:]) > 0)
    without = torch.where(query.setting.features.expand(drop), query.baseline, query.x)
    smaller = (query.score(without) < query.score(query.x))[drop.flatten(1).any(dim=1)]
    return bool(smaller.double().mean() > 0.75)


def _least_liked(case: MetricCase, attributions: list[Tensor]) -> float:
    likings = [_liking(case, attribution) for attribution in attributions]
    return min(liking for liking in likings if liking is not None)


def _liking(case: MetricCase, attribution: Tensor) -> float | None:
    """The score of a map, negated where lower is better."""
    value = case.reduce(case.judge(case.scene(MANY), attribution)).value
    sign = 1 if fact(case.metric, "higher_is_better") else -1
    return None if value is None else sign * value


def _told(case: MetricCase, left: float, right: float) -> str:
    sign = 1 if fact(case.metric, "higher_is_better") else -1
    return f"{sign * left:.4g} against {sign * right:.4g}, {'higher' if sign > 0 else 'lower'} is better"
