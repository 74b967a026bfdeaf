"""Features in the order of their attribution, and the model's answers while they are removed in that order."""

from __future__ import annotations

from torch import Tensor

from assay.core.evidence import Evidence
from assay.core.question import Question
from assay.core.trial import Scene, Trial
from assay.kit.curves import area
from assay.kit.feature_orders import among_first, descending_order, positions
from assay.metrics._removal import Canvas, Read, Removal, correctness
from assay.metrics._rows import rows


def feature_order(trial: Trial, absolute: bool, ties: str, lowest: bool = False) -> Tensor:
    """Features (B, P), highest attribution first, or lowest first.

    Random ties are shuffled for each sample on its own, in the same way for all methods.
    """
    values = trial.map.flatten(1)
    shuffle = None
    if ties == "random":
        shuffle = trial.scene.draws("ties").permutations(values.shape[1]).to(values.device)
    values = values.abs() if absolute else values
    return descending_order(-values if lowest else values, shuffle)


def removal_and_read(
    scene: Scene, by: str, canvas: Canvas, question: Question, jitter: float | None
) -> tuple[Removal, Read]:
    """How features are removed, and what is read off the model: the score of the question, or by accuracy whether the
    true class is chosen."""
    if by == "accuracy":
        removal = Removal.of(scene, canvas, Question("value"), jitter, classes="accuracy is about classes")
        return removal, correctness(removal.query, scene.samples.label)
    removal = Removal.of(scene, canvas, question, jitter)
    return removal, removal.query.score


def read_without_first(removal: Removal, order: Tensor, counts: Tensor, read: Read) -> Tensor:
    """What is read (B, K) without the first ``counts`` (K,) features of the order (B, P)."""
    position = positions(order).view(-1, *removal.query.setting.features.shape)
    counts = counts.to(order.device)
    return removal.each(len(counts), lambda part: among_first(position, counts[part]), read).T


def area_rows(curve: Tensor, counts: Tensor) -> Evidence:
    """The area under each curve (B, K), drawn over the share of features.

    Undefined where the model has no finite answer, for example one that divides by its input's norm, on a blank canvas.
    """
    curve, defined = _finite(curve)
    share = counts.to(curve.device).double() / counts[-1]
    return rows(share, value=area(curve, share), defined=defined, curve=curve)


def mean_rows(curve: Tensor, share: Tensor) -> Evidence:
    """The mean over the points of each curve (B, K), drawn over ``share`` (K,); undefined as in ``area_rows``."""
    curve, defined = _finite(curve)
    return rows(share, value=curve.mean(dim=1), defined=defined, curve=curve)


def _finite(curve: Tensor) -> tuple[Tensor, Tensor]:
    defined = curve.isfinite().all(dim=1)
    return curve.double().where(defined[:, None], 0.0), defined
