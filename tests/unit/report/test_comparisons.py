"""Which methods differ: the same findings on the terminal, on the page, in JSON and in the exported tables."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from assay.cli.tables import print_result, to_json
from assay.engine.store.store import Store
from assay.report.board import result
from assay.report.comparisons import comparison_notes, letters
from assay.report.export import PAIRS, pairs, scores, write
from assay.report.page import page
from assay.stats.comparison import Comparison, compare
from unit.report.made import IG, LEVEL, METRICS, ROWS, SHAPES, Builder

LEVELS = {**LEVEL, "grad_cam": LEVEL["gradient"]}  # as good as gradient


class Units(Builder):
    """Scores with many units: seeds in one environment, samples in the other."""

    def __init__(self, store: Store, units: int, unit: str = "seeds") -> None:
        super().__init__(store)
        self.units, self.unit = units, unit

    def score(self, environment: str, method: str, metric: str) -> str:
        name, obstacle = [environment, method, metric], self.obstacle(environment, method)
        if obstacle:
            return self.put("score", name, status=obstacle["status"], reason=obstacle["reason"])
        random = np.random.default_rng(sorted(LEVELS).index(method))
        values = LEVELS[method] + random.uniform(-0.04, 0.04, self.units)
        per_seed = values.tolist() if self.unit == "seeds" else [float(values.mean())]
        data = {"value": float(values.mean()), "low": None, "high": None, "per_seed": per_seed, "basis": "seeds"}
        arrays = None
        if self.unit == "samples":
            arrays = {"samples": values, "samples_defined": np.ones(self.units, bool)}
        counts = {"count": self.units, "defined": self.units}
        return self.put("score", name, arrays, data={**data, **counts, "unit": self.unit})


def made(folder: Path, units: int, unit: str = "seeds") -> Store:
    store = Store.open(folder / f"{unit}-{units}", sync=False)
    Units(store, units, unit).run()
    return store


@pytest.fixture(scope="module")
def twenty(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Twenty seeds: four methods in one environment, three in the other. Read only."""
    return made(tmp_path_factory.mktemp("twenty"), 20)


def printed(store: Store) -> str:
    out = StringIO()
    print_result(result(store), True, Console(width=300, file=out))
    return out.getvalue()


@pytest.mark.parametrize("unit", ["seeds", "samples"])
def test_methods_that_are_not_separated_share_a_letter(tmp_path: Path, unit: str) -> None:
    store = made(tmp_path, 20, unit)
    board = result(store).boards[0]
    assert board.letters("f1") == {"gradient": "a", "grad_cam": "a", "random_map": "b", IG: "c"}
    assert board.letters("accuracy_lost") == {IG: "a", "random_map": "b", "gradient": "c", "grad_cam": "c"}
    text = printed(store)
    told = f" a common letter: not separated by 20 {unit} (Wilcoxon, Holm over {{}} pairs of methods)"
    assert [text.splitlines().count(told.format(count)) for count in (6, 3)] == [1, 1]
    line = next(line for line in board.lines if line.method == IG)
    assert f" c {line.cells['f1'].value:.3f}" in text
    table = scores(store).set_index(["environment", "metric", "method"]).letters
    assert table[SHAPES, "f1", IG] == "c"
    assert table[SHAPES, "f1", "my_pkg:Bad"] == ""


def test_too_few_seeds_are_told_how_many_would_do(tmp_path: Path) -> None:
    store = made(tmp_path, 4)
    text = printed(store)
    told = "no letters: 4 seeds cannot show a significant difference among {} pairs of methods, {} seeds or more could"
    assert text.count(told.format(6, 8)) == 1
    assert text.count(told.format(3, 7)) == 1
    assert not any(board.letters("f1") for board in result(store).boards)


def test_one_seed_has_nothing_to_say(tmp_path: Path) -> None:
    store = made(tmp_path, 1)
    assert not any(board.comparisons for board in result(store).boards)
    assert "letter" not in printed(store)
    assert pairs(store).empty
    assert '<details class="differences">' not in page(store, tmp_path / "page").read_text(encoding="utf-8")


def test_a_score_of_before_is_not_compared(store: Store) -> None:
    assert not any(board.comparisons for board in result(store).boards)


def test_methods_without_a_value_are_in_no_pair(twenty: Store) -> None:
    shapes, rows = result(twenty).boards
    assert set(shapes.comparisons["f1"].methods) == set(LEVELS)
    assert set(rows.comparisons["f1"].methods) == set(LEVELS) - {"grad_cam"}


def test_a_metric_that_is_better_when_lower_turns_the_order(twenty: Store) -> None:
    board = result(twenty).boards[1]
    assert board.comparisons["f1"].methods == ("gradient", "random_map", IG)
    assert board.comparisons["accuracy_lost"].methods == (IG, "random_map", "gradient")


def test_a_metric_without_a_direction_compares_nothing(twenty: Store) -> None:
    run = result(twenty).run
    cards = json.loads(json.dumps(dict(run.data["cards"])))
    del cards["metrics/f1"]["higher_is_better"]
    cards["metrics/sensitivity_n"]["about"] = "models"
    board = result(twenty, replace(run, data={**run.data, "cards": cards})).boards[0]
    assert set(board.comparisons) == {"accuracy_lost"}


def test_every_pair_is_exported_with_its_test(twenty: Store, tmp_path: Path) -> None:
    table = pairs(twenty)
    assert list(table.columns) == list(PAIRS)
    assert len(table) == len(METRICS) * (math.comb(4, 2) + math.comb(3, 2))
    assert not table.isna().any().any()
    row = table[(table.environment == ROWS) & (table.metric == "f1") & (table.right == IG)].iloc[0]
    assert (row.left, row.units, row.unit, row.effect) == ("gradient", 20, "seeds", 1)
    assert row.low < LEVELS["gradient"] - LEVELS[IG] < row.high
    assert row.p == 2 / 2**20
    assert row.p_holm == pytest.approx(3 * row.p)
    assert row.separated
    write(twenty, tmp_path / "out.csv")
    assert len((tmp_path / "out.pairs.csv").read_text().splitlines()) == len(table) + 1


def test_json_has_the_findings_and_only_numbers(twenty: Store) -> None:
    boards = json.loads(json.dumps(to_json(result(twenty)), allow_nan=False))["boards"]
    found = boards[1]["comparisons"]["f1"]
    assert (found["unit"], found["units"], found["complete"], found["units_needed"]) == ("seeds", 20, 20, 7)
    assert found["groups"] == []
    assert found["friedman"]["p"] < 1e-6
    assert [rank["mean"] for rank in found["mean_ranks"]] == [1, 2, 3]
    assert all(pair["separated"] for pair in found["pairs"])


def test_a_diagram_per_metric_shows_ranks_and_groups(twenty: Store, tmp_path: Path) -> None:
    html = page(twenty, tmp_path / "page").read_text(encoding="utf-8")
    assert html.count("mean rank, 1 is best") == 2 * len(METRICS)
    assert html.count('<g class="group">') == len(METRICS)  # gradient and grad_cam, in one environment
    assert IG not in html  # escaped
    assert "Friedman&#39;s test: p = " in html


def test_the_deviation_over_seeds_is_in_every_table(twenty: Store, tmp_path: Path) -> None:
    cell = next(line for line in result(twenty).boards[0].lines if line.method == "gradient").cells["f1"]
    expected = float(np.std(cell.per_seed, ddof=1))
    lines = to_json(result(twenty))["boards"][0]["methods"]
    printed = next(line for line in lines if line["method"] == "gradient")["metrics"]["f1"]
    assert printed["deviation"] == pytest.approx(expected)
    table = scores(twenty)
    row = table[(table.environment == SHAPES) & (table.method == "gradient") & (table.metric == "f1")].iloc[0]
    assert row.deviation == pytest.approx(expected)
    write(twenty, tmp_path / "out.md")
    write(twenty, tmp_path / "out.tex")
    assert f"{cell.value:.3f} ± {expected:.3f}" in (tmp_path / "out.md").read_text().replace("*", "")
    assert rf"$\pm$ {expected:.3f}" in (tmp_path / "out.tex").read_text()
    html = page(twenty, tmp_path / "page").read_text(encoding="utf-8")
    assert f"±&nbsp;{expected:.3f}" in html


def test_a_damaged_file_leaves_its_method_out(tmp_path: Path) -> None:
    store = made(tmp_path, 20, "samples")
    rows = result(store).run.data["rows"]
    key = next(row["key"] for row in rows if (row["environment"], row["method"]) == (ROWS, "gradient"))
    record = store.get(key)
    assert record is not None
    path = next(path for path in (store.root / "arrays").rglob(f"*{record.arrays[-10:]}*") if path.is_file())
    path.write_bytes(b"damaged")
    assert set(result(store).boards[1].comparisons["f1"].methods) == {"random_map", IG}


def overlapping(count: int, step: float) -> Comparison:
    random = np.random.default_rng(0)
    found = compare({f"m{i}": (step * i + random.normal(size=20)).tolist() for i in range(count)}, True)
    assert found is not None
    return found


@pytest.mark.parametrize("step", [0.0, 0.3, 0.55, 5.0])
def test_a_common_letter_means_not_separated_and_nothing_else(step: float) -> None:
    comparison = overlapping(12, step)
    named = letters(comparison)
    for pair in comparison.pairs:
        assert bool(set(named[pair.left]) & set(named[pair.right])) != pair.separated
    assert named[comparison.methods[0]].startswith("a")
    assert all(named.values())


def test_metrics_with_other_units_are_named() -> None:
    values = {"a": [1.0] * 8, "b": [3.0 + unit for unit in range(8)]}
    fewer = {name: row[:5] for name, row in values.items()}
    one, two = compare(values, True), compare(fewer, True)
    assert one is not None
    assert two is not None
    assert list(comparison_notes({"x": one, "y": two, "z": one})) == [
        "a common letter in x and z: not separated by 8 seeds (Wilcoxon, Holm over 1 pair of methods)",
        "no letters in y: 5 seeds cannot show a significant difference among 1 pair of methods, 6 seeds or more could",
    ]
