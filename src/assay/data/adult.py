"""Adult Income (Becker and Kohavi, 1996): 48,842 people of the 1994 census, 14 columns, and whether they earn over 50K.

Read from ``adult/adult.parquet``: 14 columns and ``income``, missing values as such; ``python -m assay.data.fetch
adult`` makes it from OpenML's data set 1590 and puts the file's sum beside it. What OpenML sends was not tried, only
stood in for: its published counts are checked, its row order is not relied on. Rows come in the order of their values,
so that row i is the same from either source; the original division into training and test rows is not kept.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from assay.core.errors import AssayError
from assay.data.folder import find, missing, read

OPENML = 1590
FILE = "adult/adult.parquet"
SHA256 = "527ce88b98ba8f84be439e145f211884cf8d49d5225347fecd4e26b21ab9a679"  # of a file without a sum beside it
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
COUNTS = {"rows": 48842, "rows over 50K": 11687, "rows with a missing value": 3620, "missing values": 6465}


def adult(complete: bool = True) -> Any:
    """A pandas frame of the 14 columns and ``income`` (``<=50K`` or ``>50K``); ``complete`` rows only: 45,222."""
    path = find(FILE)
    if path is None:
        advice = "Run 'python -m assay.data.fetch adult', or set ASSAY_DATA to a folder that has it."
        raise missing("Adult Income", advice, FILE)
    frame = tidy(pd.read_parquet(BytesIO(read(path, _sum(path)))))
    return frame.dropna(ignore_index=True) if complete else frame


def tidy(frame: Any) -> Any:
    """Columns, types and order as this module promises them; AssayError where it is not the whole data set."""
    frame = frame.rename(columns={"class": INCOME})
    if absent := [name for name in (*COLUMNS, INCOME) if name not in frame]:
        raise AssayError(f"this is not the Adult data set: it has no {', '.join(absent)}.")
    frame = frame[[*COLUMNS, INCOME]]
    texts = {name: "object" for name in frame if name not in NUMBERS}
    frame = frame.astype({**texts, **dict.fromkeys(NUMBERS, "int64")})
    frame = frame.where(frame.notna(), np.nan)
    if (found := _counts(frame)) != COUNTS:
        told = ", ".join(f"{found[name]} {name} (should be {COUNTS[name]})" for name in COUNTS)
        raise AssayError(f"this is not the whole Adult data set: {told}.")
    return frame.sort_values([*COLUMNS, INCOME], ignore_index=True)


def _counts(frame: Any) -> dict[str, int]:
    gaps = frame.isna()
    found = (len(frame), (frame[INCOME] == ">50K").sum(), gaps.any(axis=1).sum(), gaps.sum().sum())
    return dict(zip(COUNTS, map(int, found), strict=True))


def _sum(path: Path) -> str:
    beside = path.with_suffix(".sha256")
    return beside.read_text(encoding="ascii").strip() if beside.exists() else SHA256
