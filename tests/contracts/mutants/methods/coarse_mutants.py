"""Wrong versions of maps at a lower resolution."""

from __future__ import annotations

from contracts.mutants.methods.own import own
from contracts.mutants.mutant import Mutant

MUTANTS = [
    own(
        "coarse",
        "the largest number of a cell",
        "Coarse.__call__",
        "adaptive_avg_pool2d(fine.unsqueeze(1), self.cells)",
        "__import__('torch').nn.functional.adaptive_max_pool2d(fine.unsqueeze(1), self.cells)",
    ),
    own(
        "coarse",
        "single pixels for means",
        "Coarse.__call__",
        "adaptive_avg_pool2d(fine.unsqueeze(1), self.cells)",
        "__import__('torch').nn.functional.interpolate(fine.unsqueeze(1), self.cells)",
    ),
    own(
        "coarse",
        "cells of equal size only",
        "Coarse.__call__",
        "adaptive_avg_pool2d(fine.unsqueeze(1), self.cells)",
        "__import__('torch').nn.functional.avg_pool2d(fine.unsqueeze(1), (height // self.cells, width // self.cells))",
    ),
    own(
        "coarse",
        "absolute values are averaged",
        "Coarse.__call__",
        "per_feature(self.of(inner), query.setting.features)",
        "per_feature(self.of(inner), query.setting.features).abs()",
    ),
    own("coarse", "the inner map's remarks stay", "Coarse.__call__", "Remarks(query.remarks.notes)", "query.remarks"),
    own("coarse", "no notes of the inner method", "Coarse.__call__", "Remarks(query.remarks.notes)", "Remarks()"),
    own("coarse", "states a grid whatever the signs", "Coarse.__call__", "self.positive_only", "True"),
    own("coarse", "states no grid", "Coarse.__call__", "self.positive_only", "False"),
    Mutant(
        "coarse",
        "enlarged by repeating",
        "assay.methods._layer_maps",
        "upsampled",
        "interpolate(maps, query.setting.features.shape, mode='bilinear', align_corners=False)",
        "interpolate(maps, query.setting.features.shape)",
    ),
    Mutant(
        "coarse",
        "corners on corners",
        "assay.methods._layer_maps",
        "upsampled",
        "interpolate(maps, query.setting.features.shape, mode='bilinear', align_corners=False)",
        "interpolate(maps, query.setting.features.shape, mode='bilinear', align_corners=True)",
    ),
]
