"""Agreement with truth: the same numbers on the terminal, on the page, in JSON and in the exported tables."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from scipy.stats import spearmanr

from assay.cli.tables import print_result, to_json
from assay.engine.store.store import Store
from assay.report.agreements import AgreementRow
from assay.report.board import result
from assay.report.columns import AGREEMENT
from assay.report.export import agreement, write
from assay.report.page import page
from unit.report.made import IG, METHODS, METRICS, ROWS, SHAPES, Builder

SEEDS = 6
ASKED = {"truth": "f1", "metrics": ["sensitivity_n", "accuracy_lost"], "methods": list(METHODS)}


def per_seed(environment: str, method: str, metric: str) -> list[float]:
    names = [environment == SHAPES, sorted(METHODS).index(method), sorted(METRICS).index(metric)]
    return np.random.default_rng([int(name) for name in names]).uniform(0.1, 0.9, SEEDS).tolist()  # type: ignore[no-any-return]


class Judged(Builder):
    """Six seeds of scores; in one environment three methods have them, in the other four."""

    unit = "seeds"
    distinct = SEEDS

    def study(self) -> dict[str, Any]:
        return {**super().study(), "agreement": [ASKED]}

    def score(self, environment: str, method: str, metric: str) -> str:
        name, obstacle = [environment, method, metric], self.obstacle(environment, method)
        if obstacle:
            return self.put("score", name, status=obstacle["status"], reason=obstacle["reason"])
        values = per_seed(environment, method, metric)
        data = {"value": float(np.mean(values)), "low": None, "high": None, "per_seed": values, "basis": "seeds"}
        samples = {"samples": np.zeros(self.distinct), "samples_defined": np.ones(self.distinct, bool)}
        arrays = samples if self.unit == "samples" else None
        return self.put("score", name, arrays, data={**data, "count": SEEDS, "defined": SEEDS, "unit": self.unit})


class Shared(Judged):
    """The seeds have only two different samples."""

    unit, distinct = "samples", 2


def made(folder: Path, builder: type[Judged] = Judged) -> Store:
    store = Store.open(folder / "s", sync=False)
    builder(store).run()
    return store


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Read only."""
    return made(tmp_path_factory.mktemp("judged"))


def rows(store: Store) -> dict[tuple[str, str], AgreementRow]:
    (table,) = result(store).agreements
    return {(row.environment, row.metric): row for row in table.rows}


def test_every_metric_is_compared_in_every_environment_with_its_direction(judged: Store) -> None:
    found = rows(judged)
    assert set(found) == {(place, metric) for place in (SHAPES, ROWS) for metric in ASKED["metrics"]}
    for (environment, metric), row in found.items():
        methods = ["gradient", IG, "random_map", *(["grad_cam"] if environment == SHAPES else [])]
        sign = -1 if metric == "accuracy_lost" else 1  # lower is better
        expected = [
            spearmanr(
                [sign * per_seed(environment, method, metric)[seed] for method in methods],
                [per_seed(environment, method, "f1")[seed] for method in methods],
            ).statistic
            for seed in range(SEEDS)
        ]
        assert set(row.agreement.methods) == set(methods)
        assert row.agreement.per_seed == pytest.approx(expected)
        assert row.agreement.value == pytest.approx(np.mean(expected))


def test_methods_that_failed_or_were_skipped_are_left_out_with_the_reason(judged: Store) -> None:
    found = rows(judged)
    assert found[SHAPES, "sensitivity_n"].left_out == {"my_pkg:Bad": "failed"}
    assert found[ROWS, "sensitivity_n"].left_out == {"my_pkg:Bad": "failed", "grad_cam": "skipped"}


def test_the_terminal_shows_each_number_and_what_it_is(judged: Store) -> None:
    shown = StringIO()
    print_result(result(judged), True, Console(file=shown, width=200))
    text = shown.getvalue()
    assert "Agreement with f1: Spearman's correlation over 5 methods" in text
    for row in rows(judged).values():
        assert row.text in text
        assert f"{row.agreement.value:.3f}" in row.text
    assert "95 % interval over 6 seeds" in text
    assert "my_pkg:Bad is left out everywhere: failed" in text
    assert f"grad_cam is left out of sensitivity_n in {ROWS} and accuracy_lost in {ROWS}: skipped" in text


def test_json_and_export_have_all_of_it(judged: Store, tmp_path: Path) -> None:
    printed = json.loads(json.dumps(to_json(result(judged))))["agreement"]
    table = agreement(judged)
    assert list(table.columns) == list(AGREEMENT)
    write(judged, tmp_path / "out.parquet")
    back = pd.read_parquet(tmp_path / "out.agreement.parquet")
    assert len(printed) == len(table) == len(back) == 4
    for entry, (_, line) in zip(printed, back.iterrows(), strict=True):
        row = rows(judged)[entry["environment"], entry["metric"]]
        assert entry["value"] == line.value == row.agreement.value
        assert entry["per_seed"] == json.loads(line.per_seed) == list(row.agreement.per_seed)
        assert entry["left_out"] == json.loads(line.left_out) == row.left_out
        assert entry["methods"] == json.loads(line.methods) == list(row.agreement.methods)


@pytest.mark.parametrize("suffix", ["md", "tex"])
def test_text_tables_have_it_too(judged: Store, tmp_path: Path, suffix: str) -> None:
    write(judged, tmp_path / f"out.{suffix}")
    text = (tmp_path / f"out.{suffix}").read_text().replace("{[}", "[").replace("{]}", "]").replace("$-$", "-")
    assert all(row.text in text for row in rows(judged).values())


def test_the_page_has_a_table_and_a_dot_for_each_method_compared(judged: Store, tmp_path: Path) -> None:
    html = page(judged, tmp_path / "page").read_text()
    section = html.split('<section id="agreement">')[1].split("</section>")[0]
    for row in rows(judged).values():
        assert f"{row.agreement.value:.3f}".replace("-", "−") in section
    assert section.count('<circle class="dot') == 2 * sum(len(row.agreement.methods) for row in rows(judged).values())
    assert "4 of 5 methods" in section
    assert "3 of 5 methods" in section


def test_seeds_that_share_samples_have_no_interval(tmp_path: Path) -> None:
    shared = made(tmp_path, Shared)
    for row in rows(shared).values():
        assert (row.agreement.low, row.agreement.basis) == (None, "shared")
    (table,) = result(shared).agreements
    assert "no interval: the seeds share model and samples" in table.notes()


def test_a_run_that_asks_for_none_shows_none(store: Store, html: str) -> None:
    assert result(store).agreements == ()
    assert 'id="agreement"' not in html
    assert to_json(result(store))["agreement"] == []
