"""What docs/experiments.md quotes are results of the studies as they are shipped."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import Any

import make_experiments as made
import pages
import pytest
from experiments import attributionlab, shuffled, soco
from experiments.agop import STUDIES as AGOP
from experiments.reading import Difference, boards
from pages import is_kept, kept

from assay.studies.shipped import find
from assay.studies.study import Study


@pytest.mark.parametrize("name", [*AGOP, *filter(is_kept, (*made.STUDIES[len(AGOP) :], *made.LARGE))])
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
            values = [cell["per_seed"] for cell in line["metrics"].values() if "value" in cell]
            assert all(len(per_seed) == len(study.seeds) for per_seed in values)


def test_bootstraps_are_all_resamples_of_the_seeds() -> None:
    values = (0.3, -0.2, -0.15)
    means = [sum(values[index] for index in drawn) for drawn in product(range(3), repeat=3)]
    assert Difference(values).bootstraps == sum(mean > 0 for mean in means) / 27


def test_a_seed_without_one_of_the_numbers_is_left_out_of_a_difference() -> None:
    found = Difference.of((1.0, None, 3.0, 2.0), (0.5, 0.5, 2.5, 1.5))
    assert found.values == (0.5, 0.5, 0.5)
    assert str(found) == "+0.500 [+0.500, +0.500], > 0 in 3 of 3 seeds"
    assert str(Difference.of((), (0.5, 0.5))) == "no seed has both"


WITHOUT_STUDIES = {"lab-studies", "lab-readouts", "lab-effects"}  # of no kept number, or of differences
CELL = {"status": "ok", "value": 0.25, "low": 0.2, "high": 0.3, "per_seed": [0.25] * 5}


def planted(study: Study) -> dict[str, Any]:
    """A result in the shape of those that are kept, with one number everywhere."""
    summary = {"command": "", "commit": "", "seconds": 60, "cpu_seconds": 60, "digest": ""}
    return {**summary, **(_planted_sweep(study) if study.sweep else _planted_boards(study))}


def _planted_sweep(study: Study) -> dict[str, Any]:
    values = list(range(len(study.sweep.values)))
    curves = [
        {"environment": place.label, "metric": metric.label, "method": method.label, "varied": True}
        for place, metric, method in product(study.environments, study.metrics, study.methods)
    ]
    points = [CELL for _ in values]
    return {"sweep": {"label": "", "values": values, "curves": [{**curve, "points": points} for curve in curves]}}


def _planted_boards(study: Study) -> dict[str, Any]:
    boards = [
        {
            "environment": place.label,
            "methods": {
                method.label: {"gap": 0.5, "metrics": {metric.label: CELL for metric in study.metrics_for(place)}}
                for method in study.methods
                if method.applies(place)
            },
        }
        for place in study.environments
    ]
    agreement = [
        {
            **CELL,
            "environment": place.label,
            "truth": item.truth,
            "metric": metric,
            "methods": item.methods[1:],
            "left_out": {item.methods[0]: "undefined"},
        }
        for item in study.agreement
        for place, metric in product(study.environments, item.metrics)
    ]
    common_levels = [
        {
            "environment": place.label,
            "metric": metric.label,
            "levels": [0.1, 0.5],
            "methods": {method.label: CELL for method in study.methods if method.applies(place)},
        }
        for place in study.environments
        for metric in study.metrics_for(place)
        if metric.spec.name == "soundness"
    ]
    return {"boards": boards, "agreement": agreement, "common_levels": common_levels, "damage": _planted_damage(study)}


def _planted_damage(study: Study) -> list[dict[str, Any]]:
    return [
        {
            "environment": place.label,
            "rows": [
                {"metric": metric.label, "original": original, "scheme": scheme, "minimum": CELL, "distances": {}}
                for metric in study.metrics_for(place)
                for original, scheme in product(("GradCAM", "IG"), ("constant", "random"))
            ],
        }
        for place in study.environments
        if any(method.spec.name == "damaged" for method in study.methods)
    ]


def test_every_table_and_claim_of_attribution_lab_finds_its_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "KEPT", tmp_path)
    for name in (*attributionlab.STUDIES, *made.LARGE):
        pages.keep(name, planted(find(name)))
    tables = {name: list(table()) for name, table in attributionlab.TABLES.items()}
    assert all(any("0.250" in line for line in lines) for name, lines in tables.items() if name not in WITHOUT_STUDIES)
    claims = {line.split()[1] for line in tables["lab-claims"][2:-2]}
    assert claims >= {f"A{number:02d}" for number in range(5, 20)} | {"A10b"}
    assert [line for line in tables["lab-claims"] if "not run" in line] == [
        "| A01, A02, A03, A04 | exact |  | not run |"
    ]


def test_every_table_and_claim_of_soundness_and_completeness_finds_its_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "KEPT", tmp_path)
    assert all("Not run yet." in list(table()) for name, table in soco.TABLES.items() if name not in WITHOUT_RESULTS)
    for name in (*soco.STUDIES, *made.LARGE):
        pages.keep(name, planted(find(name)))
    tables = {name: list(table()) for name, table in soco.TABLES.items()}
    assert all(any("0.250" in line for line in lines) for name, lines in tables.items() if name not in WITHOUT_NUMBERS)
    claims = {line.split()[1].rstrip(",") for line in tables["soco-claims"][2:-2]}
    assert claims == {f"C{number:02d}" for number in range(1, 14)} - {"C12"}
    assert not [line for line in tables["soco-claims"] if "not run" in line]


WITHOUT_RESULTS = {"soco-studies", "soco-readouts", "soco-claims"}
WITHOUT_NUMBERS = {"soco-studies", "soco-readouts", "soco-order"}


def test_shuffled_maps_whose_scores_fall_with_the_share_are_ranked_right_where_higher_is_better(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "KEPT", tmp_path)
    study = find(shuffled.STUDY)
    summary = planted(study)
    for board in summary["boards"]:
        for label, line in board["methods"].items():
            share = float((re.search(r"(\d+) %", label) or ["0", "0"])[1]) / 100
            numbers = [1.0 - share + 0.01 * seed for seed in study.seeds]
            constant = dict.fromkeys(line["metrics"], [0.5] * 4 + [1.0 - share])  # equal in four of five seeds
            for name, values in (constant | dict.fromkeys(list(line["metrics"])[1:], numbers)).items():
                line["metrics"][name] = {**CELL, "value": 1.0 - share, "per_seed": values}
    pages.keep(study.name, summary)
    lines = [line.strip("| ").split(" | ") for line in shuffled.tables()]
    found = {(line[0], line[1]): line[2:] for line in lines[4 : lines.index([""], 4)]}
    place = "fine-tuned without features"
    assert found[place, "F-Fidelity"] == ["1.000 (1 of 5 seeds)"] * 3
    assert found[place, "Fid+"] == ["1.000"] * 3
    assert found[place, "Fid-"] == ["-1.000"] * 3  # lower is better
    assert ("as trained", "accuracy of the network") not in found
    scores = lines[lines.index(["Scores of IG absolute, by the share that is shuffled:"]) :]
    assert [place, "Fid+", "1.000", "0.800", "0.600", "0.400", "0.200", "0.000"] in scores
