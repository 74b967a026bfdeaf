"""Wrong metrics with a call of their own, by the contract on linear models that must reject them.

They are called with a model, a batch, its classes and its attributions, like metrics of other packages. Each is a right
metric with one error; several are faults that were measured in released packages.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from assay.check.linear.linear_case import LinearCase
from assay.foreign.metrics import foreign_metric
from contracts.honest_linear import (
    Additive,
    Correlated,
    Gap,
    OnDummies,
    Recall,
    Removal,
    Whole,
    answers,
    correlation,
    drops,
)


class WorstOfRandomHalf(Additive):
    """The largest error among half of the features, drawn at random."""

    score_direction = "lower"

    def one(self, model, x, y, a):
        drawn = np.random.permutation(a.size)[: -(-a.size // 2)]
        return float(np.abs(drops(model, x, y, a) - a.flatten())[drawn].max())


# answers


class CrashesOnThreeChannels(Additive):
    """A map per pixel, laid over the channels, has positions that no pixel has."""

    def one(self, model, x, y, a):
        positions = np.arange(x[0].size) if x.ndim == 3 else np.arange(x.size)
        assert positions[x.size - 1] >= 0
        return super().one(model, x, y, a)


class CallsARemovedFunction(Additive):
    """Calls a function that the newer version of a package does not have."""

    def one(self, model, x, y, a):
        return np.no_such_function(super().one(model, x, y, a))


class RefusesNegativeMaps(Additive):
    def one(self, model, x, y, a):
        assert a.sum() > 0 or not np.ptp(a), "attributions should not be negative"
        return super().one(model, x, y, a)


# finite


class UndefinedForTwo(Additive):
    """NaN where a sample has two features that differ."""

    def one(self, model, x, y, a):
        return super().one(model, x, y, a) * (np.nan if a.size == 2 and np.ptp(a) else 1.0)


# exact_on_linear


class FloatEquality(Additive):
    """Does the map add up to the answer, to the last bit?"""

    def one(self, model, x, y, a):
        answer, nothing = answers(model, np.stack([x, 0 * x]), y).astype(np.float32)
        return float(answer - nothing == np.cumsum(a.flatten())[-1])


class LastDropIsTheAnswer(Additive):
    """Correlates drops with attributions; for the last feature it forgets to subtract."""

    def one(self, model, x, y, a):
        true, claimed = drops(model, x, y, a), a.flatten()
        true[-1] = answers(model, x[None], y)[0]
        return float(np.corrcoef(true, claimed)[0, 1]) if np.ptp(true) and np.ptp(claimed) else 0.0


class ChannelsCountThrice(Additive):
    """A map per pixel is laid over the channels, and then every channel is judged alone."""

    def one(self, model, x, y, a):
        return super().one(model, x, y, np.broadcast_to(a, x.shape))


class ExplainsTheWinner(Correlated):
    """Explains the class that wins instead of the given one."""

    def true(self, model, x, y, a):
        return drops(model, x, int(model(torch.tensor(x[None])).argmax()), a)


class ForgetsTheBaseline(Gap):
    """Right for models without a bias, which answer zeros with zero."""

    def one(self, model, x, y, a):
        return abs(answers(model, x[None], y)[0] - a.sum())


class CountsInBytes(Correlated):
    """After feature 255 comes feature 0."""

    def true(self, model, x, y, a):
        return drops(model, x, y, a)[np.arange(a.size).astype(np.uint8)]


class RowsForColumns(Correlated):
    """Swaps height and width of the drops: right for square images."""

    def true(self, model, x, y, a):
        channels, height, width = a.shape
        position = np.arange(a.size).reshape(a.shape)
        turned = position.reshape(channels, width, height)[:, np.arange(height) % width][..., np.arange(width) % height]
        return drops(model, x, y, a)[turned.flatten()]


# best_on_linear


class BySize(Removal):
    """Removes features in the order of absolute attributions."""

    def order(self, a):
        return np.argsort(-np.abs(a), kind="stable")


class IgnoresTheLast(Correlated):
    """Of more than three features, judges all but the last."""

    def one(self, model, x, y, a):
        seen = slice(a.size - (a.size > 3))
        return correlation(drops(model, x, y, a)[seen], a.flatten()[seen])


# direction


class WrongWayRound(Removal):
    score_direction = "higher"


class SeesNoMap(Additive):
    """Replaces zeros by zeros, so that the answer never falls."""

    def one(self, model, x, y, a):
        return float(np.all(np.diff(answers(model, np.zeros((3, *x.shape)), y)) >= 0))


# batch_size


class FirstBatchOnly(Whole):
    def together(self, scores, batch_size):
        return float(np.mean(scores[:batch_size]))


class MeanOfMeans(Whole):
    """A short last batch counts as much as the others."""

    def together(self, scores, batch_size):
        batches = [scores[start : start + batch_size] for start in range(0, len(scores), batch_size)]
        return float(np.mean([np.mean(batch) for batch in batches]))


class FirstBatchOfCurves(Additive):
    """As many scores as the first batch has samples."""

    def __call__(self, model, x_batch, y_batch, a_batch, batch_size=64, **_):
        return super().__call__(model, x_batch, y_batch, a_batch)[:batch_size]


# every_sample


class ForgetsTheLast(Whole):
    def together(self, scores, batch_size):
        return float(np.mean(scores[:-1] or scores))


class OverTheLargest(Removal):
    """Divides by the largest score of the batch."""

    def __call__(self, model, x_batch, y_batch, a_batch, batch_size=64, **_):
        scores = np.array(super().__call__(model, x_batch, y_batch, a_batch))
        return list(scores / (1 + np.abs(scores).max()))


class ErrorOverTheWorst(Additive):
    """An error divided by the largest of the batch: 0 for exact maps."""

    score_direction = "lower"

    def __call__(self, model, x_batch, y_batch, a_batch, batch_size=64, **_):
        errors = 1 - np.array(super().__call__(model, x_batch, y_batch, a_batch))
        return list(errors / max(errors.max(), 1e-6))


class ByPosition(Additive):
    def __call__(self, model, x_batch, y_batch, a_batch, batch_size=64, **_):
        scores = super().__call__(model, x_batch, y_batch, a_batch)
        return [score * (0.9 if position % 2 else 1.0) for position, score in enumerate(scores)]


class ClassesOfTheFirstBatch(Correlated):
    """Works in batches of 8 and uses the classes of the first batch for all."""

    def __call__(self, model, x_batch, y_batch, a_batch, batch_size=64, **_):
        return super().__call__(model, x_batch, y_batch[np.arange(len(y_batch)) % 8], a_batch)


# no_memory


class KeepsTheFirstSize(Additive):
    """The number of features is that of the first map it ever saw."""

    def __init__(self):
        self.size = None

    def one(self, model, x, y, a):
        self.size = self.size or a.size
        return super().one(model, x, y, a) * min(1.0, self.size / a.size)


# model_untouched
class WipesTheModel(Additive):
    """Right, but sets the weights to zero afterwards."""

    def __call__(self, model, x_batch, y_batch, a_batch, batch_size=64, **_):
        scores = super().__call__(model, x_batch, y_batch, a_batch)
        for parameter in model.parameters():
            parameter.data.zero_()
        return scores


class LeavesTheModelTraining(Additive):
    def __call__(self, model, x_batch, y_batch, a_batch, batch_size=64, **_):
        scores = super().__call__(model.eval(), x_batch, y_batch, a_batch)
        model.train()
        return scores


# invariances
class CorrelatesSizes(Removal):
    """Declares that only the order counts, but correlates the sizes."""

    invariant = ("monotone",)

    def one(self, model, x, y, a):
        true, claimed = drops(model, x, y, a), a.flatten()
        spread = np.ptp(claimed) * np.ptp(true)
        return -float(np.corrcoef(true, claimed)[0, 1]) if spread else 0.0


class ScaleMatters(Additive):
    invariant = ("scale",)


# constant_maps


class OverTheSpread(Additive):
    """0 / 0 on a map of equal numbers."""

    def one(self, model, x, y, a):
        with np.errstate(invalid="ignore"):
            return super().one(model, x, y, a) * (np.ptp(a) / np.ptp(a))


class RefusesConstantMaps(Additive):
    def one(self, model, x, y, a):
        assert np.ptp(a), "the attributions are all equal"
        return super().one(model, x, y, a)


class EqualIsPerfect(Correlated):
    """1 for constant maps."""

    def one(self, model, x, y, a):
        return super().one(model, x, y, a) if np.ptp(a) else 1.0


class ZeroIsPerfect(Additive):
    """The cosine similarity, but 1 for a map of zeros."""

    def one(self, model, x, y, a):
        true, length = drops(model, x, y, a), np.linalg.norm(a)
        return float(true @ a.flatten() / length / np.linalg.norm(true)) if length else 1.0


# literal


class SquaredGap(Additive):
    """A good metric, but not the one of the literal version."""

    def one(self, model, x, y, a):
        true, claimed = drops(model, x, y, a), a.flatten().astype(float)
        return 1 - ((claimed - true) ** 2).sum() / (2 * (claimed**2 + true**2)).sum()


def additive(model, x, y, a):
    """The literal version of ``Additive``, on tensors."""
    return [
        Additive().one(model, *(row.numpy() if row.dim() else int(row) for row in rows))
        for rows in zip(x, y, a, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class Plant:
    """A metric and the promises of its user; for most, tables are enough."""

    metric: type
    promises: dict[str, Any] = field(default_factory=dict)

    @property
    def __name__(self) -> str:
        return self.metric.__name__

    def case(self) -> LinearCase:
        return LinearCase.of(
            "planted", foreign_metric("planted", self.metric, {}), {"kinds": ("table",), **self.promises}
        )


BOTH = ("image", "table")
LITERAL = foreign_metric("literal", additive, {})
HONEST = (
    Plant(Additive, {"ideal": 1.0, "literal": LITERAL, "kinds": BOTH}),
    Plant(Removal, {"best": True, "invariant": ("scale", "shift", "monotone"), "kinds": BOTH}),
    Plant(Whole, {"ideal": 1.0}),
    Plant(Correlated, {"ideal": 1.0, "kinds": BOTH}),
    Plant(Gap, {"ideal": 0.0}),
    Plant(OnDummies, {"ideal": 0.0}),
    Plant(Recall, {"ideal": 1.0}),
    Plant(WorstOfRandomHalf, {"ideal": 0.0}),
)
LINEAR: dict[str, tuple[Plant, ...]] = {
    "answers": (
        Plant(CrashesOnThreeChannels, {"kinds": ("image",)}),
        Plant(CallsARemovedFunction),
        Plant(RefusesNegativeMaps),
    ),
    "finite": (Plant(UndefinedForTwo, {"ideal": 1.0}),),
    "exact_on_linear": (
        Plant(FloatEquality, {"ideal": 1.0, "best": False}),
        Plant(LastDropIsTheAnswer, {"ideal": 1.0, "best": False}),
        Plant(ChannelsCountThrice, {"ideal": 1.0, "best": False, "kinds": ("image",)}),
        Plant(ExplainsTheWinner, {"ideal": 1.0, "best": False}),
        Plant(ForgetsTheBaseline, {"ideal": 0.0, "best": False}),
        Plant(CountsInBytes, {"ideal": 1.0, "best": False}),
        Plant(RowsForColumns, {"ideal": 1.0, "best": False, "kinds": ("image",)}),
    ),
    "best_on_linear": (Plant(BySize, {"best": True}), Plant(IgnoresTheLast, {"ideal": 1.0})),
    "direction": (Plant(WrongWayRound), Plant(SeesNoMap)),
    "batch_size": (Plant(FirstBatchOnly), Plant(MeanOfMeans), Plant(FirstBatchOfCurves)),
    "every_sample": (
        Plant(ForgetsTheLast),
        Plant(OverTheLargest),
        Plant(ByPosition),
        Plant(ErrorOverTheWorst),
        Plant(ClassesOfTheFirstBatch, {"ideal": 1.0, "kinds": BOTH}),
    ),
    "no_memory": (Plant(KeepsTheFirstSize),),
    "model_untouched": (Plant(WipesTheModel), Plant(LeavesTheModelTraining)),
    "invariances": (Plant(CorrelatesSizes), Plant(ScaleMatters)),
    "constant_maps": (
        Plant(OverTheSpread),
        Plant(RefusesConstantMaps),
        Plant(EqualIsPerfect, {"ideal": 1.0}),
        Plant(ZeroIsPerfect, {"ideal": 1.0}),
    ),
    "literal": (Plant(SquaredGap, {"ideal": 1.0, "literal": LITERAL}),),
}
