"""The check of the metric about canvases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import torch
from torch import Tensor

from assay.core.errors import NotApplicable
from assay.core.setting import Reference
from assay.core.trial import Scene, Trial
from oracles.metrics import literal
from oracles.metrics.refusals import refuses
from oracles.metrics.scenes import PLAIN, image_scene, members, numbers, table_scene

Make = Callable[..., Any]
SETS = 24


def check_unfamiliar_share(make: Make) -> None:
    images, tables = knowing(image_scene(4), 30), knowing(table_scene(5), 41)
    shares = [_check_shares(make, where, canvas) for where in (images, tables) for canvas in (0.0, 1.5, 2.0)]
    assert len({share for some in shares for share in some}) > 8
    assert max(map(max, shares)) == 1
    assert min(map(min, shares)) < 0.2
    _check_constant_entries(make)
    _check_ties(make)
    refuses(
        NotApplicable,
        "needs 20 reference rows or more, and this environment has 19",
        partial(make().probe, knowing(tables, 19)),
    )
    refuses(NotApplicable, "has none", partial(make().probe, having(tables, None)))
    make().probe(knowing(tables, 20))


def having(where: Scene, rows: Tensor | None) -> Scene:
    reference = None if rows is None else Reference(rows, torch.zeros(len(rows), dtype=torch.long))
    return replace(where, setting=replace(where.setting, reference=reference))


def knowing(where: Scene, count: int) -> Scene:
    """The scene with random reference rows, whose entries have different deviations; the first is the first sample."""
    entries = where.setting.features.entries
    spread = 0.7 + 0.3 * (torch.arange(int(np.prod(entries)), dtype=torch.float64).view(entries) % 5)
    rows = spread * numbers(61, count, *entries)
    samples = replace(where.samples, x=spread * where.samples.x)
    rows[0] = samples.x[0]
    return having(replace(where, samples=samples), rows)


def halves(make: Make, where: Scene, sets: int = SETS) -> list[list[int]]:
    """The removed features of each set, seen by a canvas function: the same for all samples."""
    kept: list[Tensor] = []

    def canvas(x: Tensor, keep: Tensor) -> Tensor:
        kept.append(keep.flatten(1).view(-1, len(where.samples), keep[0].numel()))
        return x

    make(sets=sets, canvas=canvas).probe(where)
    assert len(kept) > 1
    keep = torch.cat(kept[1:])  # the first call asks for the bare canvas
    assert len(keep) == sets
    assert (keep == keep[:, :1]).all()
    return [(~one[0]).nonzero()[:, 0].tolist() for one in keep]


def _check_shares(make: Make, where: Scene, canvas: float) -> list[float]:
    features = members(where.setting.features)
    sets = halves(make, where)
    assert {len(removed) for removed in sets} == {(len(features) + 1) // 2}
    assert len({tuple(removed) for removed in sets}) > SETS // 2
    assert {feature for removed in sets for feature in removed} == set(range(len(features)))
    metric, reference = make(sets=SETS, canvas=canvas), where.setting.reference
    assert reference is not None
    found = metric(Trial(where, numbers(62, len(where.samples), *where.setting.features.shape), metric.probe(where)))
    again = metric(Trial(where, numbers(63, len(where.samples), *where.setting.features.shape)))
    np.testing.assert_array_equal(found["value"], again["value"])  # whatever the map
    expected = []
    for x in where.samples.x.numpy():
        versions = []
        for removed in sets:
            version = x.copy()
            for feature in removed:
                version[features[feature]] = canvas
            versions.append(version)
        expected.append(literal.unfamiliar(versions, list(reference.x.numpy())))
    np.testing.assert_allclose(found["value"], expected, rtol=1e-12)
    return expected


def _check_constant_entries(make: Make) -> None:
    """An entry with the value 0.1 in all rows, whose mean is rounded: on the canvas 0.1 it is no distance."""
    where = knowing(table_scene(3), 30)
    reference = where.setting.reference
    assert reference is not None
    where.samples.x[:, :5] = reference.x[:, :5] = 0.1
    assert max(_check_shares(make, where, 0.1)) < 1
    assert min(_check_shares(make, where, 9.0)) == 1  # now it is one


def _check_ties(make: Make) -> None:
    """All rows of seven entries 0 or 0.3: each is 2 deviations from its nearest other one.

    Four entries of 0.45 are as far, up to rounding, and a distance that equals the threshold is not beyond it.
    """
    rows = 0.3 * torch.tensor(list(product((0.0, 1.0), repeat=7)), dtype=torch.float64)
    where = table_scene(4, features=PLAIN)
    where = having(replace(where, samples=replace(where.samples, x=rows[[0, 9, 70, 127]])), rows)
    assert max(_check_shares(make, where, 0.45)) == 0
    assert min(_check_shares(make, where, 0.46)) == 1
