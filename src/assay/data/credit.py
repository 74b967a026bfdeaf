"""Credit Card Default (Yeh and Lien, 2009): 30,000 clients of a bank in Taiwan, 23 columns, and whether they defaulted.

Read from ``credit/credit.parquet`` or ``credit/credit.csv``, or from a CSV or Parquet file anywhere. Names of columns
are those of the UCI file (``ID``, which is dropped, 23 columns, ``default payment next month``) or of OpenML's data set
42477 (``x1`` to ``x23``, ``y``). ``python -m assay.data.fetch credit`` makes the Parquet file from OpenML and writes
its sha256 beside it. Tested with files of the same format only. No sha256 of the original is known here: the published
counts and the published total are checked instead. Rows are sorted by their values, so that row i is the same from any
source. All columns are whole numbers and used as such.
"""

from __future__ import annotations

from typing import Any

from assay.data.table import Table, as_whole_numbers, check_columns, check_counts, encoded, local_frame, stored_frame

OPENML = 42477  # default-of-credit-card-clients
FILE = "credit/credit.parquet"
COLUMNS = (
    *("LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE"),
    *("PAY_0", "PAY_2", "PAY_3", "PAY_4", "PAY_5", "PAY_6"),
    *(f"BILL_AMT{month}" for month in range(1, 7)),
    *(f"PAY_AMT{month}" for month in range(1, 7)),
)
DEFAULT = "default"
CLASSES = ("no default", "default")
COUNTS = {"rows": 30000, "rows of defaults": 6636, "women": 18112, "dollars of credit": 5_024_529_680}
# Other names of columns, in lower case with underscores.
NAMES = {
    **{f"x{number}": name for number, name in enumerate(COLUMNS, 1)},
    **{name.lower(): name for name in COLUMNS},
    "pay_1": "PAY_0",
    **dict.fromkeys(("y", "default_payment_next_month", "default"), DEFAULT),
}


def credit(path: str = "") -> Any:
    """A pandas frame of the 23 columns and ``default`` (``no default`` or ``default``): 30,000 rows."""
    if path:
        return local_frame(path, tidy)
    return stored_frame("credit", "Credit Card Default", [FILE, "credit/credit.csv"], None, tidy)


def credit_table(path: str = "") -> Table:
    """30,000 x 23."""
    return encoded(credit(path), DEFAULT, CLASSES)


def tidy(frame: Any) -> Any:
    """Columns, types and order as described above; AssayError if it is not the whole data set."""
    frame = frame.rename(columns=_name)
    check_columns(frame, (*COLUMNS, DEFAULT), "Credit Card Default")
    frame = frame[[*COLUMNS, DEFAULT]]
    if set(frame[DEFAULT].unique()) == set(CLASSES):
        frame = frame.assign(**{DEFAULT: frame[DEFAULT] == CLASSES[1]})
    frame = as_whole_numbers(frame, (*COLUMNS, DEFAULT), "Credit Card Default")
    check_counts(_counts(frame), COUNTS, "Credit Card Default")
    frame = frame.sort_values([*COLUMNS, DEFAULT], ignore_index=True)
    return frame.assign(**{DEFAULT: frame[DEFAULT].map(dict(enumerate(CLASSES)))})


def _name(column: object) -> str:
    return NAMES.get(str(column).strip().lower().replace(".", "_").replace(" ", "_"), str(column))


def _counts(frame: Any) -> dict[str, int]:
    values = (len(frame), frame[DEFAULT].sum(), (frame["SEX"] == 2).sum(), frame["LIMIT_BAL"].sum())
    return dict(zip(COUNTS, map(int, values), strict=True))
