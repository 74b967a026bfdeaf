"""Tables for other programs: every number, and nothing disappears."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from assay.core.errors import AssayError
from assay.engine.store.store import Store
from assay.report.board import result
from assay.report.export import CURVES, LONG, PAIRS, SCORES, curves, samples, scores, write
from assay.report.table import escape_markdown, escape_tex
from assay.report.text import interval_text
from unit.report import made


@pytest.fixture(scope="module")
def table(store: Store) -> pd.DataFrame:
    return samples(store)


def test_one_row_per_sample_that_was_asked_for(table: pd.DataFrame) -> None:
    ok = table[table.status == "ok"]
    assert list(table.columns) == list(LONG)
    assert len(ok) == (4 + 3) * 3 * 2 * made.SAMPLES  # methods with a map, metrics, seeds
    assert not ok.duplicated(["environment", "method", "metric", "seed", "sample"]).any()
    assert sorted(ok["sample"].unique()) == [0, 1, 2]


def test_values_are_those_of_the_evidence(table: pd.DataFrame) -> None:
    rows = table[(table.metric == "f1") & (table.status == "ok")]
    assert len(rows) == 7 * 2 * 3
    for row in rows.itertuples():
        assert row.value == pytest.approx(made.value(row.method, row.seed, row.sample), abs=1e-12)


def test_the_mean_of_the_long_table_is_the_score(table: pd.DataFrame, store: Store) -> None:
    per_sample = table[table.metric != "accuracy_lost"].dropna(subset=["value"])
    means = per_sample.groupby(["environment", "method", "metric"]).value.mean()
    values = scores(store).dropna(subset=["value"]).set_index(["environment", "method", "metric"]).value
    assert len(means) == 7 * 2
    assert all(values[row_key] == pytest.approx(mean, abs=1e-12) for row_key, mean in means.items())


def test_an_undefined_value_is_empty_and_not_zero(table: pd.DataFrame) -> None:
    rows = table[(table.metric == "sensitivity_n") & (table["sample"] == 1)]
    assert len(rows) == 7 * 2
    assert rows.value.isna().all()
    assert not rows.defined.any()
    assert (rows.status == "ok").all()


def test_a_set_level_metric_has_rows_without_a_value_and_a_score(table: pd.DataFrame, store: Store) -> None:
    rows = table[(table.metric == "accuracy_lost") & (table.status == "ok")]
    assert len(rows) == 7 * 2 * 3
    assert rows.value.isna().all()
    assert rows.defined.all()
    score_table = scores(store)
    assert score_table[(score_table.metric == "accuracy_lost") & (score_table.status == "ok")].value.notna().all()


def test_skipped_and_failed_blocks_are_rows_with_a_reason(table: pd.DataFrame) -> None:
    failed, skipped = table[table.status == "failed"], table[table.status == "skipped"]
    assert len(failed) == 2 * 3 * 2 * 2  # environments, metrics, seeds, blocks
    assert len(skipped) == 3 * 2 * 2
    assert set(failed.reason) == {"ValueError: NaN & <worse>"}
    assert set(skipped.reason) == {"needs a convolutional layer"}
    assert failed.value.isna().all()
    assert failed["sample"].isna().all()
    assert sorted(failed.block.unique()) == list(made.BLOCKS)


def test_every_row_says_what_exactly_it_is_about(table: pd.DataFrame, store: Store) -> None:
    ig = table[table.method == made.IG]
    assert set(ig.method_spec) == {"integrated_gradients(steps=8)"}
    assert set(ig.method_question) == {'{"baseline":"true"}'}
    assert set(table[table.method == "gradient"].method_question) == {"{}"}
    ok = table[table.status == "ok"]
    assert all(record.kind == "evidence" for record in store.get_many(ok.key).values())
    assert len(store.get_many(ok.key)) == ok.key.nunique()


def test_evidence_that_is_not_in_the_store_is_a_failed_row(fresh: Store) -> None:
    run = fresh.records("run")[0]
    data = {**run.data, "trials": [dict(trials) for trials in run.data["trials"]]}
    first = data["trials"][0]
    first["evidence"] = {**first["evidence"], "f1": ["no such key", first["evidence"]["f1"][1]]}
    fresh.put(replace(run, data=data))
    rows = samples(fresh)
    lost = rows[rows.reason.str.contains("run the study again", na=False)]
    assert len(lost) == 1
    assert lost.iloc[0].status == "failed"
    assert lost.iloc[0].metric == "f1"


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_files_hold_the_tables_and_lie_side_by_side(store: Store, tmp_path: Path, suffix: str) -> None:
    load = pd.read_parquet if suffix == "parquet" else pd.read_csv
    path = tmp_path / "new folder" / f"results.{suffix}"
    rows = write(store, path)
    names = {"results": LONG, "results.scores": SCORES, "results.pairs": PAIRS, "results.curves": CURVES}
    assert {file.name for file in path.parent.iterdir()} == {f"{name}.{suffix}" for name in names}
    for name, columns in names.items():
        assert list(load(path.parent / f"{name}.{suffix}").columns) == list(columns)
    back = load(path)
    assert len(back) == rows == len(samples(store))
    assert back.value.sum() == pytest.approx(samples(store).value.sum())
    assert back.value.isna().sum() == samples(store).value.isna().sum()
    assert set(back.method) == set(made.METHODS)


@pytest.mark.parametrize("suffix", ["parquet", "csv", "md", "tex"])
def test_a_file_that_cannot_be_written_stays_as_it_was(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError("no space left on device")

    write(store, tmp_path / f"results.{suffix}")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no space"):
        write(store, tmp_path / f"results.{suffix}")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_scores_have_the_value_of_every_seed_and_what_the_interval_is_over(store: Store) -> None:
    score_table = scores(store).set_index(["environment", "method", "metric"])
    for cell in result(store).scores():
        row = score_table.loc[(cell.environment, cell.method, cell.metric)]
        assert json.loads(row.per_seed) == list(cell.per_seed)
        assert row.basis == cell.basis
    assert set(score_table.basis) == {"samples", "two", "equal", ""}
    two = score_table[score_table.basis == "two"]
    assert two.low.isna().all()
    assert [sum(json.loads(values)) / 2 for values in two.per_seed] == pytest.approx(list(two.value))


def test_curves_are_long_and_without_points_that_mean_nothing(store: Store) -> None:
    curve_table = curves(store)
    assert len(curve_table) == 7 * 2  # seven curves of three points, the last of which is defined nowhere
    assert set(curve_table.metric) == {"sensitivity_n"}
    assert sorted(curve_table.x.unique()) == [1, 10]
    assert set(curve_table[curve_table.method == "gradient"].y) == {made.LEVEL["gradient"]}


@pytest.mark.parametrize("suffix", ["md", "tex"])
def test_leaderboards_as_text_have_every_number_and_every_gap(store: Store, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"board.{suffix}"
    assert write(store, path) == 2 * 5
    text = path.read_text(encoding="utf-8")
    for cell in result(store).scores():
        if cell.value is not None:
            assert f"{cell.value:.3f}" in text
            assert interval_text(cell).replace("|", r"\|" if suffix == "md" else "|") in text
    assert "95 % intervals over samples" in text.replace(r"\%", "%")
    assert "equal in both seeds" in text
    assert "bootstrap" not in text
    assert text.count("failed") == 6
    assert text.count("skipped") == 3
    assert text.count("4/6") == 7
    assert text.count("(control)") == 2 + (1 if suffix == "md" else 2)  # the rows, and the note


def test_markdown_tables_are_not_broken_by_labels(store: Store, tmp_path: Path) -> None:
    write(store, tmp_path / "board.md")
    lines = [line for line in (tmp_path / "board.md").read_text().splitlines() if line.startswith("|")]
    assert len(lines) == 2 * (2 + 5)
    assert {line.replace(r"\|", "").count("|") for line in lines} == {3 + 4}  # method, gap, three metrics, mean rank
    assert escape_markdown("a|b*_<c>\n`d`") == r"a\|b\*\_\<c\> \`d\`"
    assert "**0.811**" in lines[2]


def test_tex_is_not_broken_by_labels(store: Store, tmp_path: Path) -> None:
    write(store, tmp_path / "board.tex")
    text = (tmp_path / "board.tex").read_text()
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert len(rows) == 2 * (1 + 5)
    assert {line.replace(r"\&", "").count("&") for line in rows} == {5}
    assert r"rows \& 100\% \textbackslash{}columns" in text
    assert escape_tex("50% of_$x^2 {~}#\\") == (
        r"50\% of\_\$x\textasciicircum{}2 \{\textasciitilde{}\}\#\textbackslash{}"
    )
    assert escape_tex("[2pt] *") == "{[}2pt{]} {*}"
    assert text.count("{") == text.count("}")


def test_an_unknown_suffix_is_an_error_that_names_the_known_ones(store: Store, tmp_path: Path) -> None:
    with pytest.raises(AssayError, match=r"\.parquet, \.csv, \.md, \.tex.*Did you mean '\.csv'"):
        write(store, tmp_path / "results.cvs")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("label", ["=1+1", "+1", "-2", "@SUM(A1)"])
def test_a_spreadsheet_runs_no_label_as_a_formula(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, label: str) -> None:
    methods = {label if name == "gradient" else name: spec for name, spec in made.METHODS.items()}
    monkeypatch.setattr(made, "METHODS", methods)
    monkeypatch.setitem(made.LEVEL, label, made.LEVEL["gradient"])
    store = Store.open(tmp_path / "store", sync=False)
    made.Builder(store).run()
    write(store, tmp_path / "out.csv")
    for path in (tmp_path / "out.csv", tmp_path / "out.scores.csv"):
        assert set(pd.read_csv(path)["method"]) == {f"'{label}", *methods} - {label}
