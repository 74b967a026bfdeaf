"""A user's data, read: rows as tensors, what their features are, and how the model takes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from numpy.typing import NDArray
from torch import Tensor

from assay.core.features import Features

Kind: TypeAlias = Literal["image", "table", "tokens", "series"]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that questions can be asked about, whatever the user gave.

    A column of text is a group of entries, one per category, of which one is 1; a column with missing numbers has an
    entry that says so. So a mean of rows is a row again once ``given`` has read it: the most frequent category.
    """

    x: Tensor  # (N, *entries), floats
    features: Features
    kind: Kind
    given: Callable[[Tensor], Any] | None = None  # entries (N, *entries) -> rows as the user gave them; None: entries
    label: NDArray[Any] | None = None  # (N,) as the user gave them: whole numbers, texts or values; None: none
    classes: tuple[str, ...] = ()  # their names where the data have an order of classes: a folder's sub-folders
    words: tuple[tuple[str, ...], ...] = ()  # by row, the text of each feature, where rows have features of their own
    reference: Tensor | None = None  # (M, *entries), training rows; None: the user gave none
    notes: tuple[str, ...] = ()  # sentences about what was chosen or converted
    reference_label: NDArray[Any] | None = None  # (M,) as the user gave them; None: none
    picture: Callable[[Tensor], Tensor] | None = None  # entries of images -> colours in 0..1; None: not known

    def __len__(self) -> int:
        return len(self.x)
