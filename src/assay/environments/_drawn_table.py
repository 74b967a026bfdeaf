"""A small table that needs no data file: two numbers, a colour and a shape, and a label that they decide with noise."""

from __future__ import annotations

import numpy as np
import pandas as pd

from assay.data.table import Table, encoded

ROWS = 500


def drawn_table() -> Table:
    """Always the same 500 rows of 4 columns, 7 entries; about a quarter are of the second class."""
    random = np.random.default_rng(15)
    frame = pd.DataFrame({"height": random.normal(10.0, 2.0, ROWS), "weight": random.normal(size=ROWS)})
    for name, levels in (("colour", ("blue", "green", "red")), ("shape", ("disc", "square"))):
        frame[name] = random.choice(np.array(levels, dtype=object), ROWS)
    score = frame["height"] - 10 + 2.0 * (frame["colour"] == "red") - 1.5 * (frame["shape"] == "disc")
    frame["class"] = np.where(score + random.normal(0.0, 0.5, ROWS) > 1.5, "tall", "short")
    return encoded(frame, "class", ("short", "tall"))
