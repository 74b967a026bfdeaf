from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets

from assay.core.errors import AssayError
from assay.data import credit as module
from assay.data.credit import COLUMNS, COUNTS, credit, credit_table, tidy
from assay.data.fetch import fetch
from assay.data.folder import fetched


def clients(monkeypatch: pytest.MonkeyPatch, count: int = 50) -> pd.DataFrame:
    """Made-up clients in the columns of the UCI file, of whom the counts are taken for those of the real set."""
    random = np.random.default_rng(2)
    frame = pd.DataFrame({"ID": range(1, count + 1)} | {name: random.integers(-2, 9, count) for name in COLUMNS})
    frame["SEX"] = random.integers(1, 3, count)
    frame["LIMIT_BAL"] = 10_000 * random.integers(1, 100, count)
    frame["default payment next month"] = (random.random(count) < 0.22).astype(int)
    values = (count, frame.iloc[:, -1].sum(), (frame["SEX"] == 2).sum(), frame["LIMIT_BAL"].sum())
    monkeypatch.setattr(module, "COUNTS", dict(zip(COUNTS, map(int, values), strict=True)))
    return frame


def openml(frame: pd.DataFrame) -> pd.DataFrame:
    """The same clients as OpenML names and types them, in another order."""
    names = dict(zip((*COLUMNS, "default payment next month"), (*(f"x{n}" for n in range(1, 24)), "y"), strict=True))
    frame = frame.drop(columns="ID").rename(columns=names).astype({"y": str}).astype({"y": "category"})
    return frame.sample(frac=1, random_state=np.random.RandomState(3))


def test_a_file_of_25_columns_becomes_a_table_of_23(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = clients(monkeypatch)
    assert frame.shape[1] == 25
    frame.to_csv(tmp_path / "clients.csv", index=False)
    table = credit_table(str(tmp_path / "clients.csv"))
    assert table.x.shape == (50, 23)
    assert table.entries == table.columns == COLUMNS
    assert table.label.tolist().count(1) == int(frame.iloc[:, -1].sum())
    found = {(*row, label) for row, label in zip(table.x.tolist(), table.label.tolist(), strict=True)}
    assert found == set(map(tuple, frame.drop(columns="ID").astype(float).to_numpy().tolist()))


def test_every_source_gives_the_same_rows(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = clients(monkeypatch)
    expected = tidy(frame)
    pd.testing.assert_frame_equal(tidy(expected), expected)
    other_names = {"PAY_0": "PAY_1", "default payment next month": "default.payment.next.month"}
    pd.testing.assert_frame_equal(tidy(frame.rename(columns=other_names)), expected)
    frame.to_parquet(tmp_path / "clients.parquet")
    pd.testing.assert_frame_equal(credit(str(tmp_path / "clients.parquet")), expected)
    asked: list[object] = []

    def answer(**arguments: object) -> SimpleNamespace:
        asked.append(arguments["data_id"])
        return SimpleNamespace(frame=openml(frame))

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", answer)
    assert fetch("credit") == fetched() / "credit"
    assert asked == [42477]
    pd.testing.assert_frame_equal(credit(), expected)


def test_a_csv_in_the_data_folder_is_found(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = clients(monkeypatch)
    (data / "credit").mkdir(parents=True)
    frame.to_csv(data / "credit" / "credit.csv", index=False)
    pd.testing.assert_frame_equal(credit(), tidy(frame))


def test_without_a_file_the_message_says_what_to_do(data: Path) -> None:
    with pytest.raises(AssayError, match=r"credit/credit\.csv in .*python -m assay\.data\.fetch credit.*ASSAY_DATA"):
        credit()


def test_what_is_not_the_data_set_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = clients(monkeypatch)
    whole, path = frame.to_csv(index=False), tmp_path / "clients.csv"
    for text, message in (
        (whole[: len(whole) // 2], r"cut off: of its 2\d rows, some have no whole number in PAY_3, "),
        (whole[: whole.index("\n30,") + 1], r"29 rows \(should be 50\)"),
        (frame.drop(columns=["AGE", "PAY_4"]).to_csv(index=False), "50 rows and 23 columns, and no AGE, PAY_4"),
        (frame.assign(AGE="old").to_csv(index=False), "of its 50 rows, some have no whole number in AGE"),
        (frame.assign(LIMIT_BAL=frame["LIMIT_BAL"] + 1).to_csv(index=False), "dollars of credit"),
        ("", "no readable .csv file"),
    ):
        path.write_text(text)
        with pytest.raises(AssayError, match=message):
            credit(str(path))
    cut = tmp_path / "cut.parquet"
    frame.to_parquet(cut)
    cut.write_bytes(cut.read_bytes()[:-100])
    with pytest.raises(AssayError, match=r"no readable \.parquet file.*cut off"):
        credit(str(cut))
    with pytest.raises(AssayError, match="cannot be read: No such file"):
        credit(str(tmp_path / "none.csv"))
    (tmp_path / "clients.xls").write_text("")
    with pytest.raises(AssayError, match=r"neither a \.csv nor a \.parquet"):
        credit(str(tmp_path / "clients.xls"))


def test_the_real_counts_are_those_that_are_published() -> None:
    assert COUNTS["rows of defaults"] / COUNTS["rows"] == pytest.approx(0.2212, abs=1e-9)
    assert COUNTS["dollars of credit"] / COUNTS["rows"] == pytest.approx(167484.32266666667, abs=1e-9)
