"""Wrong versions of single deletion."""

from __future__ import annotations

from contracts.mutants.mutant import Mutant

OWN = "assay.metrics.single_deletion"
CELLS = "assay.kit.grid_cells"
LEVELS = "assay.kit.rounding"

MUTANTS = [
    Mutant("single_deletion", "drops negated", OWN, "clean[:, None].double() - without", "without - clean[:, None]"),
    Mutant(
        "single_deletion",
        "all but the cell replaced",
        OWN,
        "indices[part, None] == cells",
        "indices[part, None] != cells",
    ),
    Mutant(
        "single_deletion", "cells before it, too", OWN, "indices[part, None] == cells", "indices[part, None] >= cells"
    ),
    Mutant("single_deletion", "blank canvas whatever was asked", OWN, "scene, self.canvas,", 'scene, "zero",'),
    Mutant("single_deletion", "asks what the environment asks", OWN, "Question(self.readout,", "Question(None,"),
    Mutant("single_deletion", "no temperature", OWN, "self.readout, self.temperature", "self.readout, None"),
    Mutant(
        "single_deletion",
        "transformed after adding up",
        OWN,
        "cell_sums(values, cells), MAP_ROUNDING",
        "self._transformed(cell_sums(trial.map.flatten(1).double(), cells)), MAP_ROUNDING",
    ),
    Mutant(
        "single_deletion",
        "transformed per entry",
        OWN,
        "self._transformed(trial.map.flatten(1).double())",
        "Trial(trial.scene, self._transformed(trial.attribution)).map.flatten(1).double()",
    ),
    Mutant("single_deletion", "sizes for the positive part", OWN, "values.clamp(min=0)", "values.abs()"),
    Mutant("single_deletion", "negative part", OWN, "values.clamp(min=0)", "values.clamp(max=0)"),
    Mutant(
        "single_deletion",
        "first sample only",
        OWN,
        "rounding_levels(drops, rounding)",
        "rounding_levels(drops[:1].expand_as(drops), rounding)",
    ),
    Mutant(
        "single_deletion",
        "rounding of answers counts",
        OWN,
        "rounding = answer_rounding(without.dtype)",
        "rounding = 0",
    ),
    Mutant("single_deletion", "rounding of maps counts", OWN, "MAP_ROUNDING = 1", "MAP_ROUNDING = 0"),
    Mutant("single_deletion", "much of a map is rounding", OWN, "MAP_ROUNDING = 1", "MAP_ROUNDING = 2**8"),
    Mutant("single_deletion", "much of an answer is rounding", LEVELS, "UNITS = 16", "UNITS = 2**50"),
    Mutant(
        "single_deletion",
        "rounding does not grow with the answer",
        OWN,
        "answer_rounding(without.dtype) * largest",
        "answer_rounding(without.dtype) * torch.ones_like(largest)",
    ),
    Mutant(
        "single_deletion",
        "values instead of ranks",
        OWN,
        "spearman(self._attribution_levels(trial), rounding_levels(drops, rounding))",
        "__import__('assay.kit.feature_orders', fromlist=['pearson'])"
        ".pearson(self._attribution_levels(trial), drops, rounding, rounding)",
    ),
    Mutant("single_deletion", "always defined", OWN, "rows(value=value, defined=defined)", "rows(value=value)"),
    Mutant("single_deletion", "endless answers are ranked", OWN, ".where(finite[:, None], 0.0)", ".nan_to_num()"),
    Mutant("single_deletion", "cells of the smallest size", CELLS, "* parts // length", "// (length // parts)"),
    Mutant("single_deletion", "last cells larger", CELLS, "* parts // length", "// (length // parts) % parts"),
    Mutant("single_deletion", "rows cut like columns", CELLS, "bands(height, rows)", "bands(height, columns)"),
    Mutant("single_deletion", "columns overlap rows", CELLS, "* columns + bands", "* rows + bands"),
    Mutant("single_deletion", "single pixels", CELLS, "if not isinstance(features, Pixels)", "if features"),
    Mutant(
        "single_deletion", "levels of neighbours in reading order", LEVELS, "scatter_(-1, order, level)", "copy_(level)"
    ),
    Mutant("single_deletion", "levels stop at one", LEVELS, "height + rises.long()", "rises.long()"),
]
