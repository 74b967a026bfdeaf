"""How often a logit and its probability disagree about what a removed cell does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.evidence import Evidence
from assay.core.trial import Scene, Trial
from assay.kit.rounding import answer_rounding
from assay.metrics._removal import classifies
from assay.metrics._rows import rows
from assay.metrics.single_deletion import SingleDeletion


@dataclass(frozen=True)
class ReadoutConflict:
    """The share of a grid's cells without which the target's logit is lower and its probability is higher.

    So much do logits and probabilities ask different questions: the removal takes something away from the target, and
    more from other classes. Cells are removed as in ``single_deletion``, and changes no larger than its rounding are
    none: 16 units in the last place of the largest answer, or one in half precision. A probability that is 1 up to
    rounding cannot rise. In tables and texts every feature is a cell.

    Says nothing about the attribution: it is the same for every method. Undefined where an answer is not finite.
    """

    grid: tuple[int, int] = (4, 4)  # rows and columns of cells
    canvas: str | float = "zero"  # in place of a cell: zero, true, mean, colour, uniform, blur, noise, rows, a number

    higher_is_better: ClassVar[bool] = False
    about: ClassVar[str] = "models"  # a method is not better for it
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    ideal: ClassVar[float] = 0.0
    needs: ClassVar[tuple[str, ...]] = ("model",)
    cost: ClassVar[str] = "2 x (cells + 1) model rows a sample, shared by all methods"
    invariant: ClassVar[tuple[str, ...]] = ("scale", "shift", "monotone")
    exact_on_linear: ClassVar[bool] = False
    paper: ClassVar[str] = "Zabička et al., Benchmarking the Attribution Quality of Vision Models: a reproduction"

    def __post_init__(self) -> None:
        if min(self.grid) < 1 or self.grid == (1, 1):
            raise SpecError(f"readout_conflict: grid={self.grid} has no two cells: write rows and columns.")

    def probe(self, scene: Scene) -> dict[str, Tensor]:
        """The share of cells (B,); NaN where an answer is not finite."""
        if not classifies(scene):
            raise NotApplicable("needs a classifier, and this model answers with a value")
        logit, probability = (self._drops(scene, readout) for readout in ("logit", "probability"))
        conflict = ((logit > 0) & (probability < 0)).double().mean(dim=1)
        return {"conflict": conflict.where((logit + probability).isfinite().all(dim=1), torch.nan)}

    def __call__(self, trial: Trial) -> Evidence:
        conflict = (trial.probe or self.probe(trial.scene))["conflict"]
        defined = conflict.isfinite()
        return rows(value=conflict.where(defined, 0.0), defined=defined)

    def _drops(self, scene: Scene, readout: Literal["logit", "probability"]) -> Tensor:
        """How much lower the answer is without each cell (B, cells); 0 up to rounding."""
        answers = SingleDeletion(self.grid, self.canvas, readout=readout).probe(scene)
        without, clean = answers["without"], answers["clean"][:, None]
        largest = torch.maximum(clean.abs(), without.abs().amax(dim=1, keepdim=True)).double()
        drops = clean.double() - without.double()
        equal = drops.abs() <= answer_rounding(without.dtype) * largest
        return drops.masked_fill(equal & drops.isfinite(), 0.0)
