"""Adult Income or Credit Card Default, and a network trained on it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import pandas as pd
import torch
from torch import Generator, Tensor, nn

from assay.core.errors import AssayError, SpecError
from assay.core.features import Columns
from assay.core.question import Question
from assay.core.rng import generator
from assay.core.setting import Recipe, Reference, Samples, Setting
from assay.core.spec import File
from assay.data.adult import adult_table
from assay.data.credit import credit_table
from assay.data.table import Table, encoded
from assay.train.fit import fit
from assay.train.networks import Standardise, initialise, mlp, restore
from assay.train.stacked import fit_stacked

DRAWN_ROWS = 500  # of the table that needs no data file
TEST_SHARE = 0.2  # of the rows, rounded up


@dataclass(frozen=True)
class PublicTable:
    """A public table and a network trained on four fifths of its rows. No truth is known (Katakam, 2026, part 2).

    ``adult``: 45,222 complete rows, 14 columns as 104 entries, 36,177 rows to train and 9,045 to test. ``credit``:
    30,000 rows, 23 columns, 24,000 and 6,000. The division keeps the share of each class. The seed draws it, unless
    ``split_seed`` fixes it, and initial weights and batches; samples are test rows in a drawn order, none twice.
    Reference rows are all training rows.

    ``x`` is in standard units of the training rows, also one-hot entries, as in the paper: 0 is the mean. The paper
    ranks entries one by one; ``features='columns'`` makes a category one feature.

    Files are read from ``$ASSAY_DATA`` or the cache folder, where ``python -m assay.data.fetch adult`` puts them, or
    from ``path``. Dataset ``drawn`` is a small invented table that needs no file.
    """

    paper: ClassVar[str] = "arXiv:2605.15700"
    modality: ClassVar[str] = "table"
    draws_model: ClassVar[bool] = True  # each seed trains a model

    dataset: Literal["adult", "credit", "drawn"] = "adult"  # which table
    path: File = ""  # a .csv or .parquet file of the data set; empty: in the data folders
    features: Literal["entries", "columns"] = "entries"  # each level of a category by itself, or each column
    split_seed: int | None = None  # divides the rows into training and test rows; None: the study's seed
    hidden: tuple[int, ...] = (256, 256, 128, 64)  # widths of the network's hidden layers
    epochs: int = 200  # of training
    batch: int = 256  # rows per step
    lr: float = 1e-3  # of Adam

    def __post_init__(self) -> None:
        if self.dataset == "drawn" and self.path:
            raise SpecError("public_table: dataset='drawn' needs no file, so leave path out.")

    @classmethod
    def tiny(cls) -> PublicTable:
        return cls("drawn", hidden=(16, 8), epochs=10, batch=32, lr=1e-2)

    @property
    def draws_rule(self) -> bool:
        """True if the seed divides the rows: with another seed, samples could be training rows."""
        return self.split_seed is None

    def check_data(self) -> None:
        _ = self._table

    def identities(self, indices: Sequence[int], seed: int) -> list[Hashable]:
        """Row numbers in the table: seeds have test rows in common."""
        order = self._order(seed)
        if indices and max(indices) >= len(order):
            raise AssayError(
                f"sample {max(indices)} was asked for, and {self.dataset} has {len(order)} test rows. Ask for fewer "
                "samples. Blocks are computed whole, so their size should divide the number of samples."
            )
        return list(self._division(seed).test_rows[order[list(indices)]].tolist())

    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        rows = torch.tensor(self.identities(indices, seed), dtype=torch.long)
        division = self._division(seed)
        return Samples(division.standard(rows), division.label[rows], None, tuple(indices))

    def train(self, seed: int) -> dict[str, Tensor]:
        rows = self.training_rows(seed)
        return dict(self._trained(rows.x, rows.label, seed).state_dict())

    def training_rows(self, seed: int) -> Reference:
        division = self._division(seed)
        return Reference(division.standard(division.training_rows), division.label[division.training_rows])

    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        table = self._table
        entries, columns = Columns.plain(len(table.entries), table.entries), Columns(table.column_of, table.columns)
        return Setting(
            model=self._restored(weights),
            features=entries if self.features == "entries" else columns,
            kind="table",
            question=Question(readout="logit", temperature=1.0, baseline="mean", target="predicted"),
            classes=table.classes,
            reference=self.training_rows(seed),
            recipe=Recipe(self._trained, nn.Module.state_dict, self._restored, self._trained_many),
        )

    @property
    def _table(self) -> Table:
        return _table(self.dataset, self.path, _stamp(self.path))

    def _division(self, seed: int) -> _Division:
        return _division(self.dataset, self.path, _stamp(self.path), self._split_seed(seed))

    def _split_seed(self, seed: int) -> int:
        return seed if self.split_seed is None else self.split_seed

    def _order(self, seed: int) -> Tensor:
        count = len(self._division(seed).test_rows)
        return torch.randperm(count, generator=generator("public_table", self.dataset, "evaluated", seed))

    def _trained(self, x: Tensor, label: Tensor, seed: int) -> nn.Module:
        network, random = self._untrained(x, seed)
        fit(network, x, label, self.epochs, self.batch, self.lr, random)
        return network

    def _trained_many(self, x: Tensor, label: Tensor, seeds: Sequence[int]) -> list[nn.Module]:
        networks, randoms = zip(*(self._untrained(x[0], seed) for seed in seeds), strict=True)
        fit_stacked(networks, x, label, self.epochs, self.batch, self.lr, randoms)
        return list(networks)

    def _untrained(self, x: Tensor, seed: int) -> tuple[nn.Sequential, Generator]:
        """An untrained network, and the generator that orders rows in training."""
        random = generator("public_table", "mlp", seed)
        initialise(network := self._blank(), random)
        return network.to(x), random

    def _restored(self, weights: Mapping[str, Tensor]) -> nn.Module:
        restore(network := self._blank(), weights)
        return network

    def _blank(self) -> nn.Sequential:
        return mlp(len(self._table.entries), self.hidden, len(self._table.classes))


@dataclass(frozen=True, eq=False)
class _Division:
    """A table's rows, divided; all in standard units of the training rows."""

    x: Tensor  # raw
    label: Tensor
    training_rows: Tensor  # row numbers, in a drawn order
    test_rows: Tensor
    standard_units: Standardise

    def standard(self, rows: Tensor) -> Tensor:
        return self.standard_units(self.x[rows])  # type: ignore[no-any-return]


@lru_cache(maxsize=2)
def _division(dataset: str, path: str, stamp: tuple[int, int], seed: int) -> _Division:
    table = _table(dataset, path, stamp)
    x, label = torch.tensor(table.x), torch.tensor(table.label)
    order = torch.randperm(len(label), generator=generator("public_table", dataset, "division", seed))
    is_test = _stratified(label[order], ceil(TEST_SHARE * len(label)))
    training_rows = order[~is_test]
    return _Division(x, label, training_rows, order[is_test], Standardise.of(x[training_rows]))


def _stratified(label: Tensor, count: int) -> Tensor:
    """True (N,) for ``count`` rows: of each class the first ones, as many as its share says. What is left by rounding
    down goes to the classes with the largest remainders."""
    sizes = label.bincount()
    shares = sizes.double() * count / len(label)
    quota = shares.floor().long()
    quota[(shares - quota).argsort(descending=True, stable=True)[: count - int(quota.sum())]] += 1
    position = torch.empty_like(label)
    for number, size in enumerate(sizes.tolist()):
        position[label == number] = torch.arange(size)
    return position < quota[label]


@lru_cache(maxsize=2)
def _table(dataset: str, path: str, _file: tuple[int, int]) -> Table:
    if dataset == "drawn":
        return drawn_table()
    return adult_table(path) if dataset == "adult" else credit_table(path)


def _stamp(path: str) -> tuple[int, int]:
    """Size and time of change, so that a changed file is read again."""
    status = Path(path).stat() if path and Path(path).is_file() else None
    return (status.st_size, status.st_mtime_ns) if status else (0, 0)


def drawn_table() -> Table:
    """Always the same 500 rows of 4 columns, 7 entries; about a quarter are of the second class."""
    random = np.random.default_rng(15)
    frame = pd.DataFrame({"height": random.normal(10.0, 2.0, DRAWN_ROWS), "weight": random.normal(size=DRAWN_ROWS)})
    for name, levels in (("colour", ("blue", "green", "red")), ("shape", ("disc", "square"))):
        frame[name] = random.choice(np.array(levels, dtype=object), DRAWN_ROWS)
    score = frame["height"] - 10 + 2.0 * (frame["colour"] == "red") - 1.5 * (frame["shape"] == "disc")
    frame["class"] = np.where(score + random.normal(0.0, 0.5, DRAWN_ROWS) > 1.5, "tall", "short")
    return encoded(frame, "class", ("short", "tall"))
