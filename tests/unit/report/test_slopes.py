"""Rankings of a run side by side: which columns, whose samples, who is left out; and bars by family."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from assay.cli.tables import to_json
from assay.engine.store.store import Store
from assay.report.board import result
from assay.report.columns import SLOPE
from assay.report.export import slope, write
from assay.report.figures import figures
from assay.report.page import page
from assay.report.slopes import SlopeRow
from assay.stats.slope import Moves, moves_by_resampling
from unit.report.made import BLOCKS, IG, LEVEL, METHODS, ROWS, SAMPLES, SHAPES, Builder, is_defined, value

FAMILIES = ("</text><b>slopes", "paths", "", "", "paths")
ASKED = (("metrics", "f1", "sensitivity_n"), ("metrics", "accuracy_lost", "f1"), ("environments", ROWS, SHAPES))


class Sloped(Builder):
    """Scores are the means of their evidence; the methods keep their distances on all samples."""

    data_seed: int | None = None

    def study(self) -> dict[str, Any]:
        names = ("of", "left", "right", "methods")
        asked = [dict(zip(names, (*one, list(METHODS)), strict=True)) for one in ASKED]
        found = super().study()
        for entry, family in zip(found["methods"], FAMILIES, strict=True):
            entry["family"] = family
        return {**found, "slope": asked, "data_seed": self.data_seed}

    def score(self, environment: str, method: str, metric: str) -> str:
        name, obstacle = [environment, method, metric], self.obstacle(environment, method)
        if obstacle:
            return self.put("score", name, status=obstacle["status"], reason=obstacle["reason"])
        defined = [index for index in range(SAMPLES) if metric != "sensitivity_n" or is_defined(index)]
        seeds = [float(np.mean([value(method, seed, index) for index in defined])) for seed in (0, 1)]
        data = {"value": float(np.mean(seeds)), "low": None, "high": None, "per_seed": seeds, "basis": "equal"}
        return self.put("score", name, data={**data, "count": 6, "defined": 2 * len(defined)})


def made(folder: Path) -> Store:
    store = Store.open(folder / "s", sync=False)
    Sloped(store).run()
    return store


@pytest.fixture(scope="module")
def sloped(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Read only."""
    return made(tmp_path_factory.mktemp("sloped"))


def rows(store: Store) -> dict[tuple[str, str], SlopeRow]:
    return {(row.name, row.asked.right): row for table in result(store).slopes for row in table.rows}


def test_metrics_have_a_row_for_each_environment_and_environments_for_each_metric(sloped: Store) -> None:
    assert set(rows(sloped)) == {
        *((place, right) for place in (SHAPES, ROWS) for right in ("sensitivity_n", "f1")),
        *((metric, SHAPES) for metric in ("f1", "sensitivity_n", "accuracy_lost")),
    }


def test_ranks_go_by_the_direction_of_each_side(sloped: Store) -> None:
    found = rows(sloped)
    best_first = sorted(LEVEL, key=lambda name: -LEVEL[name])
    assert found[SHAPES, "sensitivity_n"].slope.methods == tuple(best_first)
    assert found[SHAPES, "sensitivity_n"].slope.moves == 0
    turned = found[SHAPES, "f1"].slope  # on the left lower is better
    assert turned.ranks == {name: (4.0 - place, place + 1.0) for place, name in enumerate(best_first)}
    assert (turned.moves, turned.correlation) == (4, pytest.approx(-1))
    assert found[ROWS, "f1"].slope.moves == 2  # of three, the middle one stays
    assert found["f1", SHAPES].slope.moves == 0


def test_methods_without_a_value_on_one_side_are_left_out_with_the_reason(sloped: Store) -> None:
    found = rows(sloped)
    assert found[SHAPES, "f1"].left_out == {"my_pkg:Bad": "failed"}
    assert found["f1", SHAPES].left_out == {"my_pkg:Bad": "failed", "grad_cam": "skipped"}
    notes = [note for table in result(sloped).slopes for note in table.notes()]
    assert "my_pkg:Bad is left out everywhere: failed" in notes
    assert f"grad_cam is left out of {ROWS}: skipped" in notes


def test_samples_are_those_of_the_evidence_and_a_score_of_the_set_has_none(sloped: Store) -> None:
    found = rows(sloped)
    for row in (found[SHAPES, "sensitivity_n"], found["sensitivity_n", SHAPES]):
        drawn = row.by_resampling
        assert (drawn.value, drawn.low, drawn.high, drawn.reason) == (0, 0, 0, "")
    assert found[SHAPES, "f1"].by_resampling.reason == "no values per sample"
    assert found[SHAPES, "f1"].texts[2] == "no values per sample"


def test_scores_that_are_no_means_of_their_evidence_are_not_resampled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = made(tmp_path)
    monkeypatch.setitem(LEVEL, "gradient", 0.7)
    Sloped(store).score(SHAPES, "gradient", "f1")
    assert rows(store)[SHAPES, "sensitivity_n"].by_resampling.reason == "no values per sample"
    assert rows(store)[ROWS, "sensitivity_n"].by_resampling.value == 0


def test_evidence_that_is_lost_or_damaged_is_not_resampled(tmp_path: Path) -> None:
    store = made(tmp_path)
    (series,) = (
        each
        for each in result(store).run.data["trials"]
        if (each["environment"], each["method"], each["seed"]) == (SHAPES, IG, 1)
    )
    record = store.get(series["evidence"]["f1"][len(BLOCKS) - 1])
    assert record is not None
    (path,) = (tmp_path / "s").rglob(f"*{record.arrays}*")
    path.write_bytes(b"x")
    assert rows(store)[SHAPES, "sensitivity_n"].by_resampling.reason == "no values per sample"


@pytest.mark.parametrize("data_seed", [None, 3])
def test_seeds_with_the_same_samples_share_their_resamples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data_seed: int | None
) -> None:
    monkeypatch.setattr(Sloped, "data_seed", data_seed)
    told: list[bool] = []

    def recorded(per_seed: Any, shared: bool) -> Moves:
        told.append(shared)
        return moves_by_resampling(per_seed, shared)

    monkeypatch.setattr("assay.report.slopes.moves_by_resampling", recorded)
    result(made(tmp_path))
    assert set(told) == {data_seed is not None}


def test_json_and_export_have_all_of_it(sloped: Store, tmp_path: Path) -> None:
    printed = json.loads(json.dumps(to_json(result(sloped))))["slope"]
    table = slope(sloped)
    assert list(table.columns) == list(SLOPE)
    write(sloped, tmp_path / "out.parquet")
    back = pd.read_parquet(tmp_path / "out.slope.parquet")
    assert len(printed) == len(table) == len(back) == 7
    for entry, (_, line) in zip(printed, back.iterrows(), strict=True):
        row = rows(sloped)[entry["environment"] or entry["metric"], entry["right"]]
        assert entry["moves"] == line.moves == row.slope.moves
        assert entry["ranks"] == json.loads(line.ranks)
        assert entry["moves_per_seed"] == json.loads(line.moves_per_seed) == [row.slope.moves] * 2
        assert entry["mean_moves"] == line.mean_moves == row.slope.moves
        assert entry["left_out"] == json.loads(line.left_out) == row.left_out
        assert entry["moves_by_resampling"]["reason"] == line.resampling_reason == row.by_resampling.reason


def test_a_chart_has_every_name_twice_and_no_two_names_on_one_line(sloped: Store, tmp_path: Path) -> None:
    html = page(sloped, tmp_path / "page").read_text()
    section = html.split('<section id="slope">')[1].split("</section>")[0]
    charts = re.findall(r'<svg class="chart.*?</svg>', section, re.DOTALL)
    assert len(charts) == 7
    for chart, row in zip(charts, (row for table in result(sloped).slopes for row in table.rows), strict=True):
        names = re.findall(r'<text x="([\d.]+)" y="([\d.]+)" text-anchor="\w+">[^<]*<title>', chart)
        assert len(names) == len(set(names)) == 2 * len(row.slope.methods)
        ys = sorted(float(y) for x, y in names if x == names[0][0])
        assert np.diff(ys).min() >= 15
        assert chart.count("<polyline") == len(row.slope.methods)
    assert "<b>slopes" not in html


def test_bars_stand_in_families_for_metrics_that_rank_methods(sloped: Store, tmp_path: Path) -> None:
    html = page(sloped, tmp_path / "page").read_text()
    section = html.split('<section id="families">')[1].split("</section>")[0]
    charts = re.findall(r'<svg class="chart.*?</svg>', section, re.DOTALL)
    assert len(charts) == 2 * 3
    heads = re.findall(r'font-weight="bold">([^<]*)<', charts[0])
    assert heads == ["&lt;/text&gt;&lt;b&gt;slopes", "paths", "other methods"]
    assert charts[0].count('class="thick') == 4
    assert charts[-1].count('class="thick') == 3
    assert len(re.findall(r'class="thick c1"', charts[0])) == 2  # IG and Grad-CAM
    drawn = {path.name.partition("-")[0] for path in figures(sloped, tmp_path / "figures")}
    assert {"families", "slope"} <= drawn


def test_a_run_that_asks_for_none_shows_none(store: Store, html: str) -> None:
    assert result(store).slopes == ()
    assert 'id="slope"' not in html
    assert 'id="families"' not in html
    assert to_json(result(store))["slope"] == []
