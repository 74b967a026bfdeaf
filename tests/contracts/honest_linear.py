"""Right metrics with a call of their own: those of ``planted_linear`` without their errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch


def answers(model: Any, points: np.ndarray, label: int) -> np.ndarray:
    """The explained number of each point."""
    return model(torch.tensor(points).float())[:, label].double().numpy()


def drops(model: Any, x: np.ndarray, label: int, a: np.ndarray) -> np.ndarray:
    """Drops of the answer, one per number of the map, when its entry or all channels of its pixel are set to zero."""
    keep = 1.0 - np.eye(a.size).reshape(a.size, *a.shape)
    return answers(model, x[None], label)[0] - answers(model, keep * x, label)


class Additive:
    """1 where every attribution equals the drop without its feature; 0 where all equal its negative."""

    score_direction = "higher"

    def __call__(self, model, x_batch, y_batch, a_batch, batch_size=64, **_):
        return [self.one(model, x, int(y), a) for x, y, a in zip(x_batch, y_batch, a_batch, strict=True)]

    def one(self, model, x, y, a):
        true, claimed = drops(model, x, y, a), a.flatten().astype(float)
        return 1 - np.abs(claimed - true).sum() / (np.abs(claimed) + np.abs(true)).sum()


class Removal(Additive):
    """The mean answer while features are removed, highest attribution first."""

    score_direction = "lower"

    def one(self, model, x, y, a):
        gone = np.cumsum(drops(model, x, y, a)[self.order(a.flatten())])
        return float(np.mean(answers(model, x[None], y)[0] - gone))

    def order(self, a):
        return np.argsort(-a, kind="stable")


class Whole(Additive):
    """One number for all samples."""

    def __call__(self, model, x_batch, y_batch, a_batch, batch_size=64, **_):
        return self.together(super().__call__(model, x_batch, y_batch, a_batch), batch_size)

    def together(self, scores, batch_size):
        return float(np.mean(scores))


class Correlated(Additive):
    """Correlates drops with attributions; 0 for a map of equal numbers."""

    invariant = ("scale", "shift")

    def one(self, model, x, y, a):
        return correlation(self.true(model, x, y, a), a.flatten())

    def true(self, model, x, y, a):
        return drops(model, x, y, a)


def correlation(true: np.ndarray, claimed: np.ndarray) -> float:
    return float(np.corrcoef(true, claimed)[0, 1]) if np.ptp(true) and np.ptp(claimed) else 0.0


class Gap(Additive):
    """The distance of the map's sum from the answer minus that to zeros."""

    score_direction = "lower"

    def one(self, model, x, y, a):
        answer, nothing = answers(model, np.stack([x, 0 * x]), y)
        return abs(answer - nothing - a.sum())


class OnDummies(Additive):
    """The share of attribution on features without an effect: 0, the ideal, for a map of zeros."""

    score_direction = "lower"

    def one(self, model, x, y, a):
        sizes = np.abs(a.flatten())
        return float(sizes[np.abs(drops(model, x, y, a)) < 1e-6].sum() / (sizes.sum() or 1.0))


class Recall(Additive):
    """The share of positive features whose attribution is positive: 1, the ideal, for a map of ones."""

    def one(self, model, x, y, a):
        positive = drops(model, x, y, a) > 1e-6
        return float((a.flatten() > 0)[positive].mean()) if positive.any() else 1.0
