"""Reads torch's data sets and loaders: their first rows, always the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, RandomSampler, SequentialSampler

from assay.core.errors import SpecError
from assay.core.rng import global_streams_seeded
from assay.foreign.inputs import one_line
from assay.users.opened import Opened
from assay.users.phrases import counted
from assay.users.reading import LIMIT, Reading

LABELS = ("label", "labels")  # names of labels in rows that are dicts


def is_dataset(data: Any) -> bool:
    """Whether these are rows with their labels, one by one or in batches."""
    if isinstance(data, list) and data and isinstance(data[0], tuple) and len(data[0]) == 2:
        return isinstance(data[0][0], Tensor | np.ndarray | Image.Image) and np.ndim(data[0][1]) == 0
    return isinstance(data, Dataset | DataLoader)


def read_dataset(name: str, data: Any, reading: Reading) -> Opened:
    """The first rows and their labels. Random numbers that the data draw are the same each time."""
    limit = reading.limit or LIMIT
    kind = type(data).__name__
    try:
        with global_streams_seeded("rows of a data set"):
            pairs = list(_enough(name, _batches(data, limit), limit))
    except SpecError:
        raise
    except Exception as error:  # of the user's code
        raise SpecError(f"{name}: the {kind} cannot be read: {one_line(error)}.") from error
    if not pairs:
        raise SpecError(f"{name}: the {kind} has no rows.")
    rows = _first(_joined(name, [rows for rows, _ in pairs]), limit)
    told = _told(name, data, _count(rows))
    key = next((key for key in LABELS if key in rows), None) if isinstance(rows, Mapping) else None
    if key is not None:
        return Opened({name: part for name, part in rows.items() if name != key}, rows[key], key, notes=told)
    labels = [labels for _, labels in pairs]
    return Opened(rows, None if labels[0] is None else _first(_joined(name, labels), limit), notes=told)


def _batches(data: Any, limit: int) -> Iterator[Any]:
    """Batches of the first rows. A loader that shuffles is read in the order of its data set."""
    if not isinstance(data, DataLoader):
        items = (
            iter(data) if isinstance(data, IterableDataset) else (data[place] for place in range(_length(data, limit)))
        )
        taken = list(islice(items, limit))
        return iter([_collated(taken)] if taken else [])
    if _has_order(data):
        size, count = data.batch_size or 1, _length(data.dataset, limit)
        collate: Callable[[list[Any]], Any] = data.collate_fn
        return (
            collate([data.dataset[i] for i in range(start, min(start + size, count))])
            for start in range(0, count, size)
        )
    return iter(data)


def _enough(name: str, batches: Iterator[Any], limit: int) -> Iterator[tuple[Any, Any]]:
    """Rows and labels of batches, until there are as many as wanted."""
    total = 0
    while total < limit and (batch := next(batches, None)) is not None:
        rows, labels = _rows_and_labels(name, batch)
        total += _count(rows)
        yield rows, labels


def _length(data: Any, limit: int) -> int:
    return min(limit, len(data))


def _has_order(loader: DataLoader[Any]) -> bool:
    """Whether batches are rows of the data set, put together in its order or at random."""
    plain = type(loader.sampler) in (SequentialSampler, RandomSampler) and type(loader.batch_sampler) is BatchSampler
    return plain and not isinstance(loader.dataset, IterableDataset)


def _rows_and_labels(name: str, batch: Any) -> tuple[Any, Any]:
    if not isinstance(batch, tuple | list) or all(isinstance(part, str | Image.Image) for part in batch):
        return batch, None
    if len(batch) > 2:
        raise SpecError(
            f"{name}: the data gives {len(batch)} things for each row, and rows and labels are needed: give a dict of "
            "the model's inputs in place of several, or leave out what the model does not read."
        )
    return batch[0], batch[1] if len(batch) == 2 else None


def _collated(items: Sequence[Any]) -> Any:
    """Rows as a batch, as far as torch has a form for it."""
    first = items[0]
    if isinstance(first, Mapping):
        return {key: _collated([item[key] for item in items]) for key in first}
    if isinstance(first, tuple):
        return tuple(map(_collated, zip(*items, strict=True)))
    if isinstance(first, Tensor):
        return torch.stack(list(items))
    return list(items) if isinstance(first, str | Image.Image) else np.stack([np.asarray(item) for item in items])


def _joined(name: str, parts: Sequence[Any]) -> Any:
    """Batches, one after the other."""
    first = parts[0]
    if isinstance(first, Mapping):
        return {key: _joined(f"{name}['{key}']", [part[key] for part in parts]) for key in first}
    if isinstance(first, list | tuple):
        return [item for part in parts for item in part]
    try:
        return (
            torch.cat(list(parts))
            if isinstance(first, Tensor)
            else np.concatenate([np.asarray(part) for part in parts])
        )
    except (RuntimeError, ValueError) as error:
        raise SpecError(
            f"{name} has batches that cannot be joined: {one_line(error)}. Give rows of one shape."
        ) from error


def _first(rows: Any, limit: int) -> Any:
    return {key: _first(part, limit) for key, part in rows.items()} if isinstance(rows, Mapping) else rows[:limit]


def _count(rows: Any) -> int:
    return _count(next(iter(rows.values()))) if isinstance(rows, Mapping) and rows else len(rows)


def _told(name: str, data: Any, count: int) -> tuple[str, ...]:
    dataset = data.dataset if isinstance(data, DataLoader) else data
    of_all = f" of {len(dataset):,}" if hasattr(dataset, "__len__") and len(dataset) > count else ""
    shuffles = isinstance(data, DataLoader) and isinstance(data.sampler, RandomSampler)
    order = ", in the order of its data set" if shuffles else ""
    limit = " More are read with a larger limit." if of_all else ""
    first = f"the first {count:,}{of_all} rows" if of_all else f"all {counted(count, 'row')}"
    return (f"{name}: {first} of the {type(data).__name__} were read{order}.{limit}",)
