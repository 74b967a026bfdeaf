"""Reads texts: the features of a text are its words, which are kept or removed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError, suggest
from assay.core.features import Columns
from assay.users.phrases import counted, listed, of_rows
from assay.users.reading import Reading
from assay.users.rows import Rows

STEP = 2.0**-20  # the entries of text i are 1 + i * STEP
MOST = 2**19  # texts: entries stay below 1.5
KEPT = 0.5  # a word with a larger entry is kept


@dataclass(frozen=True, eq=False)
class Words:
    """The words of texts. A text's entries are 1 and, as a tiny fraction, its number; of words that are removed, 0."""

    texts: tuple[str, ...]
    pieces: tuple[tuple[str, ...], ...]  # by text, its words with the white space behind them

    @classmethod
    def of(cls, texts: Sequence[str]) -> Words:
        return cls(tuple(texts), tuple(tuple(re.findall(r"\S+\s*", text)) for text in texts))

    @property
    def entries(self) -> Tensor:
        """(N, most words), float64."""
        counts = torch.tensor([len(words) for words in self.pieces])
        present = torch.arange(int(counts.max())) < counts[:, None]
        return present * (1 + STEP * torch.arange(len(counts), dtype=torch.float64))[:, None]

    def joined(self, entries: Tensor) -> list[str]:
        """The texts of the words that are kept: as they were where all are, else with no white space around."""
        numbers = entries.detach().cpu().double().numpy()
        kept = numbers > KEPT
        rows = np.where(kept, (numbers - 1) / STEP, 0)
        if (rows != np.rint(rows)).any() or not ((rows >= 0) & (rows < len(self.texts))).all():
            raise NotApplicable("needs data with values between others: a word of a text is kept or removed")
        return [self._text(places, row) for places, row in zip(kept, rows.astype(int), strict=True)]

    def _text(self, kept: Any, rows: Any) -> str:
        places = np.flatnonzero(kept)
        first = rows[places[0]] if len(places) else 0
        if len(places) == len(self.pieces[first]) and (rows[places] == first).all():
            return self.texts[first]
        return "".join(self.pieces[rows[place]][place] for place in places).strip()


def read_texts(texts: Sequence[str], reference: Sequence[str] | None, reading: Reading) -> Rows:
    """Rows of texts; ``given`` gives lists of texts back."""
    _check("x", texts)
    if reference is not None:
        _check("reference", reference)
    words = Words.of([*texts, *(reference or ())])
    entries = words.entries.to(torch.float64 if reading.format == torch.float64 else torch.float32)
    count, longest = len(texts), entries.shape[1]
    notes = [
        f"Texts are split at white space: each of up to {counted(longest, 'word')} is a feature, and may be removed."
    ]
    if longest == 1:
        notes.append("Careful: every text is one word. For a language without white space, put some between its words.")
    return Rows(
        entries[:count],
        Columns.plain(longest),
        "tokens",
        given=words.joined,
        words=tuple(tuple(piece.rstrip() for piece in pieces) for pieces in words.pieces[:count]),
        reference=entries[count:] if reference is not None else None,
        notes=tuple(notes),
    )


def texts_of(data: Any, reading: Reading) -> list[str] | None:
    """The texts, if rows are texts: those of a column, where it is named or the only one."""
    if hasattr(data, "columns"):
        column = _text_column(data, reading)
        return None if column is None else list(data[column])
    if reading.text is not None:
        raise SpecError(f"text='{reading.text}' names a column, and x is {type(data).__name__}: leave it out.")
    if isinstance(data, list | tuple) or getattr(data, "ndim", 0) == 1:
        texts = list(data)
        return texts if any(isinstance(text, str) for text in texts) else None
    return None


def _text_column(frame: Any, reading: Reading) -> Any:
    if reading.text is not None:
        names = {str(name): name for name in frame.columns}
        if reading.text not in names:
            raise SpecError(
                f"there is no column '{reading.text}' of texts.{suggest(reading.text, names)} x has "
                f"{listed(names, 20)}."
            )
        return names[reading.text]
    if (
        len(frame.columns) == 1
        and not reading.columns
        and any(isinstance(value, str) for value in frame[frame.columns[0]])
    ):
        return None if frame.dtypes.iloc[0] == "category" else frame.columns[0]
    return None


def _check(name: str, texts: Sequence[str]) -> None:
    if not 0 < len(texts) < MOST // 2:
        raise SpecError(f"{name} has {len(texts):,} texts: give 1 to {MOST // 2 - 1:,}.")
    wrong = np.array([not isinstance(text, str) for text in texts])
    if wrong.any():
        raise SpecError(f"{name} has no text in {of_rows(wrong)}: leave these rows out, or write a text there.")
    empty = np.array([not text.strip() for text in texts])
    if empty.any():
        raise SpecError(f"{name} has texts without a word in {of_rows(empty)}: leave these rows out.")
