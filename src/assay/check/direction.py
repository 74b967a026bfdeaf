"""Does a metric prefer right to wrong, in the direction that it declares?"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from assay.check.fault import Fault
from assay.check.metric_case import FEW, MANY, MetricCase, noise
from assay.check.site import Site


def direction(case: MetricCase) -> Iterator[Fault]:
    """The true effects beat random numbers and these beat a wrong map, on the mean over samples.

    Wrong is the truth negated, or, for metrics that ignore signs, a map of the features that do nothing: whichever the
    metric likes less. Metrics that ask the model are held to the first half only, and only where the blank canvas is
    as good as the true background: elsewhere it is the canvas they measure.
    """
    case.plain(FEW)
    effect = case.scene(MANY).effect
    judges_by_truth = "truth" in getattr(case.metric, "needs", ())
    if not (judges_by_truth or canvas_is_neutral(case.site)):
        return
    truth, random = _liking(case, effect), _liking(case, noise(case.scene(MANY), effect.shape[1:]))
    if truth is None or random is None:
        return  # defined on no sample
    if truth <= random:
        yield case.fault(direction, f"does not prefer the truth ({_told(case, truth, random)}) to random numbers")
    if judges_by_truth and random <= (wrong := _least_liked(case, effect)):
        yield case.fault(direction, f"does not prefer random numbers ({_told(case, random, wrong)}) to a wrong map")


def canvas_is_neutral(site: Site) -> bool:
    """The model answers a blank canvas as it answers the true background."""
    background = site.setting.background
    if background is None:
        return False
    with torch.no_grad():
        answers = site.setting.model(torch.stack([background, torch.zeros_like(background)]))
    return bool(torch.allclose(answers[0], answers[1]))


def _least_liked(case: MetricCase, effect: Tensor) -> float:
    likings = [_liking(case, wrong) for wrong in (-effect, (effect == 0).to(effect))]
    return min(liking for liking in likings if liking is not None)


def _liking(case: MetricCase, attribution: Tensor) -> float | None:
    """The score of a map, negated where lower is better."""
    value = case.reduce(case.judge(case.scene(MANY), attribution)).value
    sign = 1 if case.metric.higher_is_better else -1
    return None if value is None else sign * value


def _told(case: MetricCase, left: float, right: float) -> str:
    sign = 1 if case.metric.higher_is_better else -1
    return f"{sign * left:.4g} against {sign * right:.4g}, {'higher' if sign > 0 else 'lower'} is better"
