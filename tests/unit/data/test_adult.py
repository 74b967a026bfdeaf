from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from assay.core.errors import AssayError
from assay.data import adult as module
from assay.data.adult import COLUMNS, NUMBERS, adult, adult_table, tidy
from unit.data.fakes import sum_of


def census(monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    """Forty made-up people, of whom the counts are taken for those of the real set."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame({name: random.integers(0, 5, 40) for name in NUMBERS})
    for name in COLUMNS:
        if name not in NUMBERS:
            frame[name] = random.choice(np.array(["red", "green", "blue"], dtype=object), 40)
    frame["income"] = np.where(random.random(40) < 0.3, ">50K", "<=50K")
    frame.loc[[3, 7], "workclass"] = np.nan
    frame.loc[7, "occupation"] = np.nan
    rich = int((frame["income"] == ">50K").sum())
    monkeypatch.setattr(module, "COUNTS", dict(zip(module.COUNTS, (40, rich, 2, 3), strict=True)))
    return frame[[*COLUMNS, "income"]]


def store(data: Path, monkeypatch: pytest.MonkeyPatch, frame: pd.DataFrame) -> Path:
    path = data / module.FILE
    path.parent.mkdir(parents=True)
    frame.to_parquet(path)
    monkeypatch.setattr(module, "SHA256", sum_of(path.read_bytes()))
    return path


def test_a_stored_table_is_read_without_its_incomplete_rows(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = census(monkeypatch)
    store(data, monkeypatch, rows.assign(split="train"))
    assert list(adult()) == [*COLUMNS, "income"]
    assert len(adult()) == 38
    assert len(adult(complete=False)) == 40
    assert not adult().isna().any(axis=None)
    assert adult().index.tolist() == list(range(38))


def test_the_order_of_rows_does_not_depend_on_how_they_were_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = census(monkeypatch)
    pd.testing.assert_frame_equal(tidy(rows), tidy(rows[::-1]))
    assert sorted(map(str, tidy(rows).to_numpy().tolist())) == sorted(map(str, rows.to_numpy().tolist()))


def test_a_table_with_another_sum_is_refused(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = store(data, monkeypatch, census(monkeypatch))
    path.with_suffix(".sha256").write_text(sum_of(b"other"))
    with pytest.raises(AssayError, match="damaged or another version"):
        adult()


def test_where_there_is_no_table_the_message_says_what_to_do(data: Path) -> None:
    with pytest.raises(AssayError, match=r"adult/adult\.parquet in .*python -m assay\.data\.fetch adult.*ASSAY_DATA"):
        adult()


def test_rows_or_columns_that_are_missing_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = census(monkeypatch)
    with pytest.raises(AssayError, match=r"39 rows \(should be 40\)"):
        tidy(rows[:-1])
    with pytest.raises(AssayError, match="40 rows and 13 columns, and no race, sex"):
        tidy(rows.drop(columns=["sex", "race"]))


def test_a_csv_anywhere_is_read_and_encoded_with_an_entry_for_every_level(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = census(monkeypatch)
    written = rows.assign(income=rows["income"] + ".").fillna("?")
    written.to_csv(tmp_path / "people.csv", index=False)
    path = str(tmp_path / "people.csv")
    pd.testing.assert_frame_equal(adult(complete=False, path=path), tidy(rows))
    table = adult_table(path)
    assert table.x.shape == (38, 6 + 8 * 3)
    assert table.columns == COLUMNS
    assert table.entries[:5] == ("age", "workclass=blue", "workclass=green", "workclass=red", "fnlwgt")
    assert [COLUMNS[column] for column in table.column_of] == [entry.partition("=")[0] for entry in table.entries]
    for row, person in zip(table.x, adult(path=path).to_dict("records"), strict=True):
        for name, value in zip(table.entries, row, strict=True):
            column, _, level = name.partition("=")
            assert value == (person[column] == level if level else person[column])
    assert table.label.tolist() == [int(income == ">50K") for income in adult(path=path)["income"]]


def test_numbers_that_are_texts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssayError, match="some have no whole number in age"):
        tidy(census(monkeypatch).assign(age="old"))
