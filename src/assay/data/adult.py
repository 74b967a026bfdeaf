"""Adult Income (Becker and Kohavi, 1996): 48,842 people of the 1994 census, 14 columns, and whether they earn over 50K.

Read from ``adult/adult.parquet``: 14 columns and ``income``, missing values kept as missing; or from a CSV or Parquet
file anywhere, with a header of these names. ``python -m assay.data.fetch adult`` makes it from OpenML's data set 1590
and writes the file's sha256 beside it. The download from OpenML was tested with a stand-in only: its published counts
are checked, its row order is not relied on. Rows are sorted by their values, so that row i is the same from any source;
the original division into training and test rows is not kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.data.table import Table, as_whole_numbers, check_columns, check_counts, encoded, local_frame, stored_frame

OPENML = 1590
FILE = "adult/adult.parquet"
SHA256 = "527ce88b98ba8f84be439e145f211884cf8d49d5225347fecd4e26b21ab9a679"  # of a file without a .sha256 beside it
NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
COLUMNS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
)
INCOME = "income"
CLASSES = ("<=50K", ">50K")
COUNTS = {"rows": 48842, "rows over 50K": 11687, "rows with a missing value": 3620, "missing values": 6465}


def adult(complete: bool = True, path: str = "") -> Any:
    """A pandas frame of the 14 columns and ``income`` (``<=50K`` or ``>50K``); ``complete`` rows only: 45,222."""
    frame = local_frame(path, tidy) if path else stored_frame("adult", "Adult Income", [FILE], SHA256, tidy)
    return frame.dropna(ignore_index=True) if complete else frame


def adult_table(path: str = "") -> Table:
    """The complete rows with one entry per level: 45,222 x 104."""
    return encoded(adult(path=path), INCOME, CLASSES)


def tidy(frame: Any) -> Any:
    """Columns, types and order as described above; AssayError if it is not the whole data set."""
    frame = frame.rename(columns={"class": INCOME})
    check_columns(frame, (*COLUMNS, INCOME), "Adult")
    frame = frame[[*COLUMNS, INCOME]]
    texts = {name: "object" for name in frame if name not in NUMBERS}
    frame = frame.astype(texts)
    frame = frame.where(frame.notna(), np.nan)
    frame[INCOME] = frame[INCOME].str.rstrip(".")  # as the original test file writes it
    check_counts(_counts(frame), COUNTS, "Adult")
    frame = as_whole_numbers(frame, NUMBERS, "Adult")
    return frame.sort_values([*COLUMNS, INCOME], ignore_index=True)


def _counts(frame: Any) -> dict[str, int]:
    gaps = frame.isna()
    values = (len(frame), (frame[INCOME] == ">50K").sum(), gaps.any(axis=1).sum(), gaps.sum().sum())
    return dict(zip(COUNTS, map(int, values), strict=True))
