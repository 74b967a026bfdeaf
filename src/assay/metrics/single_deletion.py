"""The single-deletion score (Hesse et al., 2024)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from assay.core.errors import SpecError
from assay.core.evidence import Evidence
from assay.core.facts import Varies
from assay.core.question import Question
from assay.core.trial import Scene, Trial
from assay.kit.feature_orders import spearman
from assay.kit.grid_cells import cell_sums, feature_cells
from assay.kit.rounding import answer_rounding, rounding_levels
from assay.metrics._removal import Removal
from assay.metrics._rows import rows

MAP_ROUNDING = 1  # units in the last place of the largest cell's sum of sizes: sums that differ by less are equal


@dataclass(frozen=True)
class SingleDeletion:
    """Rank correlation of the attribution of each cell of a grid with the drop when this cell alone is replaced.

    IDSDS is this metric on ``in_domain(of=E)``, whose model was fine-tuned on pictures without one cell; SDS is the
    same on E itself. A cell's attribution is the sum over its pixels, after channels are summed. The drop is that of
    the number the environment asks about (for photographs, the logit of the label). With readout='probability', the
    study's question should ask the methods about probabilities, too.

    Undefined where all cells have the same attribution or the same drop. Values that are equal up to rounding tie, on
    both sides: one unit in the last place of the largest cell; 16 units of the largest answer, or one in half precision
    (ours; float32 rounding used to put symmetric maps in order). A positive factor changes nothing, nor does a constant
    if cells are of equal size.

    If the grid does not divide a side, cells differ by one pixel (ours); a constant then favours large cells. In tables
    and texts every feature is a cell (ours), and ``grid`` is ignored.
    """

    grid: tuple[int, int] = (4, 4)  # rows and columns of cells
    canvas: str | float = "zero"  # in place of a cell: zero, true, mean, colour, uniform, blur, noise, rows, a number
    transform: Literal["raw", "abs", "relu"] = "raw"  # of each pixel's attribution, before the sum over a cell
    readout: Literal["logit", "probability", "margin", "value"] | None = None  # None: as the environment asks
    temperature: float | None = None  # None: as the environment asks

    higher_is_better: ClassVar[bool] = True
    range: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    ideal: ClassVar[float] = 1.0
    needs: ClassVar[tuple[str, ...]] = ("model",)
    cost: ClassVar[str] = "cells + 1 model rows a sample, shared by all methods"
    invariant: ClassVar[tuple[str, ...]] = ("scale",)
    varies: ClassVar[Varies] = (
        ("transform", "abs", "exact"),
        ("transform", "abs", "direction"),
        ("transform", "relu", "exact"),
    )
    exact_on_linear: ClassVar[bool] = True
    paper: ClassVar[str] = "Benchmarking the Attribution Quality of Vision Models (Hesse et al., 2024)"

    def __post_init__(self) -> None:
        if min(self.grid) < 1 or self.grid == (1, 1):
            raise SpecError(f"single_deletion: grid={self.grid} has no two cells to compare: write rows and columns.")

    def probe(self, scene: Scene) -> dict[str, Tensor]:
        """Scores of the inputs (B,), and of the inputs without each cell (B, cells)."""
        removal = Removal.of(scene, self.canvas, Question(self.readout, self.temperature))
        query, cells = removal.query, self._cells(scene)
        indices = torch.arange(int(cells.max()) + 1, device=cells.device)

        def removed(part: slice) -> Tensor:
            return (indices[part, None] == cells).view(-1, 1, *scene.setting.features.shape)

        return {"clean": query.score(query.x), "without": removal.each(len(indices), removed, query.score).T}

    def __call__(self, trial: Trial) -> Evidence:
        probe = trial.probe or self.probe(trial.scene)
        clean, without = probe["clean"], probe["without"]
        finite = clean.isfinite() & without.isfinite().all(dim=1)
        drops = (clean[:, None].double() - without.double()).where(finite[:, None], 0.0)
        largest = torch.maximum(clean.abs(), without.abs().amax(dim=1)).double().where(finite, 0.0)
        rounding = answer_rounding(without.dtype) * largest
        value, defined = spearman(self._attribution_levels(trial), rounding_levels(drops, rounding))
        return rows(value=value, defined=defined)

    def _attribution_levels(self, trial: Trial) -> Tensor:
        """The rounding levels (B, cells) of the cells' attributions."""
        values, cells = self._transformed(trial.map.flatten(1).double()), self._cells(trial.scene)
        largest = cell_sums(values.abs(), cells).amax(dim=1)
        return rounding_levels(
            cell_sums(values, cells), MAP_ROUNDING * torch.finfo(trial.attribution.dtype).eps * largest
        )

    def _transformed(self, values: Tensor) -> Tensor:
        return {"raw": values, "abs": values.abs(), "relu": values.clamp(min=0)}[self.transform]

    def _cells(self, scene: Scene) -> Tensor:
        """The cell (P,) of every feature."""
        return feature_cells(scene.setting.features, self.grid).flatten().to(scene.samples.x.device)
