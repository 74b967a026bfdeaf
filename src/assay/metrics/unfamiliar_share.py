"""How many inputs with removed features are unlike the reference rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.evidence import Evidence
from assay.core.question import Question
from assay.core.trial import Scene, Trial
from assay.metrics._removal import Removal, few_rows
from assay.metrics._rows import rows

MOST_ROWS = 512  # reference rows that are used
FEWEST_ROWS = 20  # of fewer, no row is beyond the threshold
QUANTILE = 0.95
ROUNDING = 1e-9  # relative: in tables of few values, many distances equal the threshold
ROWS_AT_ONCE = 64  # reference rows in float64


@dataclass(frozen=True)
class UnfamiliarShare:
    """Share of versions of an input without half of its features that are farther from the reference than its rows.

    A model was not trained on such inputs: where the share is high, metrics that remove features with this canvas judge
    attributions by answers to inputs unlike any that the model knows. Half of the features (rounded up) are chosen at
    random, anew for each of ``sets``, the same for all samples. With canvas 'rows', the versions of all 16 rows count.

    The distance of an input is the Euclidean one to the nearest reference row, where every entry is divided by its
    standard deviation over the reference (by 1 where it is constant). It is far if 95 % of the reference rows are
    nearer to their nearest other row: for rows like these, the share is about 0.05. At most 512 reference rows count,
    the same for all samples. It is a coarse measure: a mean of rows is near to many of them and like none, so that a
    low share is no proof. Says nothing about the attribution: it is the same for every method. Defined for every
    sample. Definition ours.
    """

    sets: int = 32  # random halves of the features
    canvas: str | float = "zero"  # for features: zero, true, mean, colour, uniform, blur, noise, impute, rows, a number
    jitter: float = 0.01  # deviation of the noise on imputed pixels

    higher_is_better: ClassVar[bool] = False
    about: ClassVar[str] = "models"  # what a model is asked: a method is not better for it
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    ideal: ClassVar[float] = 0.0
    needs: ClassVar[tuple[str, ...]] = ("reference",)
    invariant: ClassVar[tuple[str, ...]] = ("scale", "shift", "monotone")
    exact_on_linear: ClassVar[bool] = False
    cost: ClassVar[str] = "no model call; sets x reference rows distances a sample, shared by all methods"
    paper: ClassVar[str] = "ours"

    def __post_init__(self) -> None:
        if self.sets < 1:
            raise SpecError(f"unfamiliar_share: sets={self.sets} must be at least 1.")

    def probe(self, scene: Scene) -> dict[str, Tensor]:
        """The share of each sample's versions that are far from the reference (B,)."""
        reference = scene.setting.reference
        if reference is None or len(reference.x) < FEWEST_ROWS:
            count = "none" if reference is None else f"{len(reference.x)}"
            raise NotApplicable(f"needs {FEWEST_ROWS} reference rows or more, and this environment has {count}")
        known = few_rows(reference.x, MOST_ROWS).flatten(1)
        scale = _scale(known)
        own = torch.cat([_distances(part, known, scale) for part in known.split(ROWS_AT_ONCE)])
        limit = (1 + ROUNDING) * own.kthvalue(2, dim=1).values.quantile(QUANTILE)  # the nearest row is the row itself
        removal = Removal.of(scene, self.canvas, Question("value"), self.jitter)
        removed = self._removed(scene)
        x = scene.samples.x
        bytes_per_row = 32 * x[0].numel() + 16 * len(known)
        far = [
            (_distances(points.flatten(0, 1).flatten(1), known, scale).amin(dim=1) > limit).view(points.shape[:2])
            for part in scene.machine.calls(self.sets, bytes_per_row, len(x))
            for points in removal.versions(removed[part].expand(-1, len(x), *removed.shape[2:]))
        ]
        return {"share": torch.cat(far).double().mean(dim=0)}

    def __call__(self, trial: Trial) -> Evidence:
        return rows(value=(trial.probe or self.probe(trial.scene))["share"])

    def _removed(self, scene: Scene) -> Tensor:
        """Random halves of the features (sets, 1, *features)."""
        shape, stream = scene.setting.features.shape, scene.generator("halves")
        count = int(torch.Size(shape).numel())
        halves = torch.stack([torch.randperm(count, generator=stream)[: (count + 1) // 2] for _ in range(self.sets)])
        removed = torch.zeros(self.sets, count, dtype=torch.bool).scatter_(1, halves, value=True)
        return removed.view(self.sets, 1, *shape).to(scene.samples.x.device)


def _scale(known: Tensor) -> Tensor:
    """The standard deviation of every entry (E,); 1 where it is constant, which rounding would hide."""
    deviation = known.std(dim=0, correction=0).double()
    return deviation.where(known.amax(dim=0) > known.amin(dim=0), 1.0)


def _distances(points: Tensor, known: Tensor, scale: Tensor) -> Tensor:
    """Distances (N, R) of points (N, E) to reference rows (R, E), in float64.

    Not by products of matrices, which lose the distance of rows that are nearly equal.
    """
    scaled, exact = points / scale, "donot_use_mm_for_euclid_dist"
    parts = (part / scale for part in known.split(ROWS_AT_ONCE))
    return torch.cat([torch.cdist(scaled, part, compute_mode=exact) for part in parts], dim=1)
