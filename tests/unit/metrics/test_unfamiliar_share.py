"""The share of unfamiliar inputs is about the canvas and the reference rows, never about a method."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from assay.catalogue.registry import card
from assay.core.errors import SpecError
from assay.core.machine import Machine
from assay.core.trial import Scene, Trial
from assay.metrics._removal import few_rows
from assay.metrics.unfamiliar_share import UnfamiliarShare
from assay.studies.agreement import ranks_methods
from assay.studies.file import read
from oracles.metrics import literal
from oracles.metrics.checks_canvas import halves, having, knowing
from oracles.metrics.scenes import PLAIN, Lambda, image_scene, members, numbers, scene, table_scene, take


def share(where: Scene, **params: Any) -> list[float]:
    return UnfamiliarShare(**params).probe(where)["share"].tolist()  # type: ignore[no-any-return]


def test_with_rows_the_versions_of_all_rows_count() -> None:
    where = knowing(table_scene(3), 40)
    features, sets = members(where.setting.features), halves(UnfamiliarShare, where, 10)
    assert where.setting.reference is not None
    rows = where.setting.reference.x
    expected = []
    for x in where.samples.x.numpy():
        versions = []
        for removed in sets:
            for row in few_rows(rows).numpy():
                version = x.copy()
                for feature in removed:
                    version[features[feature]] = row[features[feature]]
                versions.append(version)
        assert len(versions) == 160
        expected.append(literal.unfamiliar(versions, list(rows.numpy())))
    assert share(where, sets=10, canvas="rows") == pytest.approx(expected, rel=1e-12)
    assert 0 < sum(expected) < 3


def test_rows_of_the_reference_are_far_in_one_case_of_twenty() -> None:
    """Nothing changes: the canvas gives back the input, fresh rows like those of the reference."""
    x = numbers(71, 2000, 7)
    where = having(scene(x, Lambda(lambda x: x[:, :3]), PLAIN), numbers(72, 400, 7))
    where = replace(where, machine=Machine())
    found = share(where, sets=1, canvas=lambda x, keep: x)
    assert abs(np.mean(found) - 0.05) < 0.025  # the threshold itself is an estimate from 400 rows


def test_far_values_are_always_unfamiliar() -> None:
    assert share(knowing(image_scene(2), 30), canvas=50.0) == [1.0, 1.0]


def test_at_most_512_rows_count_and_always_the_same() -> None:
    where = table_scene(4)
    rows = numbers(73, 700, *where.setting.features.entries)
    most = few_rows(rows, 512)
    assert len(torch.unique(most, dim=0)) == 512
    assert share(having(where, rows), canvas=1.5) == share(having(where, most), canvas=1.5)


@pytest.mark.parametrize(
    "canvas", ["zero", "true", "mean", "colour", "uniform", "blur", "noise", "impute", "rows", 0.5]
)
def test_every_canvas_has_a_share_that_no_block_and_no_budget_changes(canvas: Any) -> None:
    where = knowing(image_scene(5), 30)
    whole = share(where, sets=6, canvas=canvas)
    assert all(0 <= one <= 1 for one in whole)
    part = take(Trial(where, numbers(74, 5, 6, 6)), slice(3, 5)).scene
    assert share(part, sets=6, canvas=canvas) == whole[3:]
    assert share(replace(where, machine=Machine()), sets=6, canvas=canvas) == whole


def test_the_model_is_not_asked() -> None:
    def refuse(x: torch.Tensor) -> torch.Tensor:
        raise AssertionError("the model was called")

    where = knowing(table_scene(3), 30)
    where = replace(where, setting=replace(where.setting, model=Lambda(refuse)))
    assert len(share(where)) == 3


def test_it_ranks_no_methods() -> None:
    table = {"environments": ["tabular_rule"], "methods": ["gradient"], "metrics": ["unfamiliar_share"], "title": "T"}
    (entry,) = read({**table, "seeds": [0], "samples": 2}, "s").metrics
    assert not ranks_methods(entry)
    assert card("metrics", "unfamiliar_share").fact("about") == "models"


def test_no_set_is_refused() -> None:
    with pytest.raises(SpecError, match="sets=0"):
        UnfamiliarShare(sets=0)
