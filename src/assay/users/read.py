"""Reads a user's data, whatever they are, as rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from PIL import Image

from assay.core.errors import SpecError, suggest
from assay.users.arrays import read_array
from assay.users.files import open_data
from assay.users.images import Photos, read_pictures
from assay.users.inputs import read_inputs
from assay.users.labels import check_differ, checked_labels
from assay.users.loaders import is_dataset, read_dataset
from assay.users.opened import Opened
from assay.users.phrases import listed
from assay.users.reading import Reading
from assay.users.rows import Rows
from assay.users.tables import as_pandas, is_frame, read_table, table_of
from assay.users.texts import read_texts, texts_of
from assay.users.tokens import is_tokenized, read_tokens

PLURAL = {"image": "images", "series": "series", "table": "a table", "tokens": "words or tokens"}
KINDS = {  # that an option is about
    "by": ("series",),
    "channels_first": ("image", "series"),
    **dict.fromkeys(("scale", "resize", "side", "mean"), ("image",)),
    "words": ("tokens",),
    "text": ("tokens",),
}


def read_rows(data: Any, *, reference: Any = None, label: Any = None, reading: Reading = Reading()) -> Rows:
    """A user's data as rows: paths, data frames, arrays, tensors, lists, texts, images, data sets, loaders or dicts.

    ``reference`` is training rows, of the same kind. ``label`` is a label for each row, or the name of a column, of a
    key or of an array, which is taken out of the rows. SpecError says in a paragraph what cannot be read, and what to
    do.
    """
    named = label if isinstance(label, str) else None
    opened = _opened("x", data, named, reading)
    train = Opened(opened.reference, opened.reference_label)
    if reference is not None:
        train = _opened("reference", reference, named, reading)
    if named is not None and opened.label_name != named:
        opened, train = _label_taken(opened, train, named)
    elif label is not None and named is None:
        opened = replace(opened, label=label)
    if train.classes and opened.classes and train.classes != opened.classes:
        raise SpecError(
            f"x has the classes {listed(opened.classes)}, and the reference {listed(train.classes)}: give a folder "
            "with the same sub-folders, or list the classes of both in their classes.txt."
        )
    rows = _read(opened.data, train.data, reading)
    _check_options(rows.kind, reading)
    name = "label" if named is None else f"label '{named}'"
    labels = None if opened.label is None else checked_labels(name, opened.label, len(rows))
    if named is not None and labels is not None:
        check_differ(name, labels)
    count = 0 if rows.reference is None else len(rows.reference)
    return replace(
        rows,
        label=labels,
        classes=opened.classes,
        reference_label=None if train.label is None else checked_labels(f"reference: {name}", train.label, count),
        notes=(*opened.notes, *train.notes, *rows.notes),
    )


def _check_options(kind: str, reading: Reading) -> None:
    """SpecError for an option that says nothing about such rows: it would be passed over."""
    for name, kinds in KINDS.items():
        if getattr(reading, name) not in (None, ()) and kind not in kinds:
            wanted = " and ".join(PLURAL[one] for one in kinds)
            raise SpecError(f"{name} is about {wanted}, and x is read as {PLURAL[kind]}: leave it out.")


def _opened(name: str, data: Any, label: str | None, reading: Reading) -> Opened:
    if isinstance(data, str | Path):
        return open_data(data, label, reading)
    if is_dataset(data):
        return read_dataset(name, data, reading)
    if isinstance(data, Image.Image):
        return Opened([data])
    frame = as_pandas(data)
    converted = (
        f"{name} is {type(data).__module__.partition('.')[0]}'s {type(data).__name__}, read as a frame of pandas."
    )
    return Opened(frame, notes=() if frame is data else (converted,))


def _label_taken(opened: Opened, train: Opened, name: str) -> tuple[Opened, Opened]:
    """The data without the column of labels; the reference without it, too, if it has one."""
    if not (is_frame(opened.data) or isinstance(opened.data, Mapping)):
        raise SpecError(
            f"label='{name}' names a column, and x has none ({type(opened.data).__name__}): give one label per row as "
            "an array, or leave label out."
        )
    names = {str(key): key for key in (opened.data.columns if is_frame(opened.data) else opened.data)}
    if name not in names:
        raise SpecError(f"there is no column '{name}' for the label.{suggest(name, names)} x has {listed(names, 20)}.")
    return _without(opened, names[name]), _without(train, names[name])


def _without(opened: Opened, key: Any) -> Opened:
    data = opened.data
    if is_frame(data) and key in data.columns:
        return replace(opened, data=data.drop(columns=[key]), label=data[key])
    if isinstance(data, Mapping) and key in data:
        return replace(opened, data={name: part for name, part in data.items() if name != key}, label=data[key])
    return opened


def _read(data: Any, reference: Any, reading: Reading) -> Rows:
    """By the kind of the data."""
    texts = texts_of(data, reading)
    if texts is not None:
        others = None if reference is None else texts_of(reference, reading)
        if reference is not None and others is None:
            raise SpecError(f"x holds texts, and reference is {type(reference).__name__}: give texts there, too.")
        return read_texts(texts, others, reading)
    if isinstance(data, Photos) or _are_images(data):
        if reference is not None and not (isinstance(reference, Photos) or _are_images(reference)):
            raise SpecError(f"x holds images, and reference is {type(reference).__name__}: give images there, too.")
        return read_pictures(data, reference, reading)
    if is_tokenized(data):
        return read_tokens(data, reference, reading)
    table = table_of(data)
    if table is not None:
        return read_table(table, reference, reading)
    return (read_inputs if isinstance(data, Mapping) else read_array)(data, reference, reading)


def _are_images(data: Any) -> bool:
    return isinstance(data, list | tuple) and bool(data) and all(isinstance(item, Image.Image) for item in data)
