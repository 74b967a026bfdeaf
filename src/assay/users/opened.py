"""What a file, a folder, a data set or a loader holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Opened:
    """Data as a Python user would pass them, and what stands beside them."""

    data: Any
    label: Any = None  # one per row; None: none, or a column of a data frame
    label_name: str | None = None  # the array or key that they stood under
    classes: tuple[str, ...] = ()  # names of the classes, where labels are their numbers
    reference: Any = None  # training rows
    reference_label: Any = None
    notes: tuple[str, ...] = ()
