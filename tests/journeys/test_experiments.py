"""What docs/experiments.md quotes are results of the studies as they are shipped."""

from __future__ import annotations

from itertools import product

import make_experiments as made
import pytest
from experiments.agop import STUDIES as AGOP
from experiments.reading import Difference, boards
from pages import is_kept, kept

from assay.study.shipped import find


@pytest.mark.parametrize("name", [*AGOP, *filter(is_kept, made.STUDIES[len(AGOP) :])])
def test_kept_results_are_of_the_studies_as_they_are_shipped(name: str) -> None:
    study = find(name)
    if study.sweep:
        sweep = kept(name)["sweep"]
        assert (sweep["parameter"], len(sweep["values"])) == (study.sweep.parameter, len(study.sweep.values))
        assert {curve["metric"] for curve in sweep["curves"]} == {entry.label for entry in study.metrics}
        return
    assert list(boards(name)) == [entry.label for entry in study.environments]
    for environment in study.environments:
        board = boards(name)[environment.label]
        assert set(board["methods"]) == {entry.label for entry in study.methods if entry.applies(environment)}
        for line in board["methods"].values():
            assert set(line["metrics"]) == {entry.label for entry in study.metrics_for(environment)}
            values = [cell["per_seed"] for cell in line["metrics"].values() if cell["status"] == "ok"]
            assert all(len(per_seed) == len(study.seeds) for per_seed in values)


def test_bootstraps_are_all_resamples_of_the_seeds() -> None:
    values = (0.3, -0.2, -0.15)
    means = [sum(values[index] for index in drawn) for drawn in product(range(3), repeat=3)]
    assert Difference(values).bootstraps == sum(mean > 0 for mean in means) / 27


def test_a_seed_without_one_of_the_numbers_is_left_out_of_a_difference() -> None:
    found = Difference.of((1.0, None, 3.0, 2.0), (0.5, 0.5, 2.5, 1.5))
    assert found.values == (0.5, 0.5, 0.5)
    assert str(found) == "+0.500 [+0.500, +0.500], > 0 in 3 of 3 seeds"
