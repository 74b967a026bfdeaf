"""Opens a user's file or folder: what a Python user would pass, and the labels that stand beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import SpecError, suggest
from assay.foreign.arrays import read_arrays
from assay.foreign.inputs import one_line
from assay.users.image_files import ImageFiles
from assay.users.images import Photos
from assay.users.opened import Opened
from assay.users.phrases import counted, listed
from assay.users.reading import LIMIT, Reading

REFERENCE = "reference_"  # arrays of training rows begin so
ROWS, LABEL = "x", "y"  # arrays that are read where nothing else is said
IMAGES = (".png", ".jpg", ".jpeg", ".webp")
KINDS = "CSV (.csv, .tsv), Parquet (.parquet), arrays (.npz, .npy), texts (.txt, one a line) and folders of images"
INSTEAD = {
    **dict.fromkeys((".pkl", ".pickle", ".joblib"), "A pickle can run code as it is opened"),
    **dict.fromkeys((".pt", ".pth", ".ckpt"), "Files of torch are for weights"),
    **dict.fromkeys(
        (".xlsx", ".xls", ".json", ".jsonl", ".feather", ".arff", ".mat", ".h5"), "This format is not read"
    ),
}
OTHER_TEXT = "is no text in UTF-8: save it as that."
PYTHON = "save a table with DataFrame.to_parquet, arrays with numpy.savez, or pass the data themselves in Python"


def open_data(path: str | Path, label: str | None = None, reading: Reading = Reading()) -> Opened:
    """The data in a file or folder. A label that names an array of an .npz is read; a column stays in its table."""
    place = Path(path)
    if place.is_dir():
        return _folder(place, reading.limit or LIMIT)
    if not place.is_file():
        text = " For a text, give a list of texts." if " " in str(path) and not place.suffix else ""
        raise SpecError(f"there is no file '{path}'.{_near(place)}{text}")
    if _is_empty(place):
        raise SpecError(f"'{path}' is empty: data are needed.")
    suffix = place.suffix.lower()
    if suffix in IMAGES:
        return Opened(Photos(ImageFiles(str(place.parent)), (place.name,)))
    if suffix in (".npz", ".npy"):
        return _arrays(str(path), label, reading)
    readers: dict[str, Callable[[Path], Opened]] = {".csv": _csv, ".tsv": _csv, ".txt": _texts}
    readers.update(dict.fromkeys((".parquet", ".pq"), _parquet))
    if suffix not in readers:
        reason = f"{INSTEAD[suffix]}: {PYTHON}" if suffix in INSTEAD else "Give one of these"
        raise SpecError(f"'{path}' is no data that are read: {KINDS}. {reason}.")
    return readers[suffix](place)


def _is_empty(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return not file.read(1)
    except OSError as error:
        raise SpecError(f"cannot read '{path}': {one_line(error)}.") from error


def _near(path: Path) -> str:
    """What stands in its folder under a similar name."""
    if not path.parent.is_dir():
        return f" There is no folder '{path.parent}' either."
    return suggest(path.name, (other.name for other in path.parent.iterdir()))


def _csv(path: Path) -> Opened:
    """A table as pandas reads it, with the separator that its first line has."""
    import pandas as pd

    with path.open("rb") as file:
        first = file.readline(2**16)
    found = max((",", ";", "\t"), key=lambda mark: first.count(mark.encode()))
    separator = "\t" if path.suffix.lower() == ".tsv" else found
    frame = _frame(path, lambda: pd.read_csv(path, sep=separator, low_memory=False))
    named = {",": "commas", ";": "semicolons", "\t": "tabs"}[separator]
    notes = () if separator == "," or path.suffix.lower() == ".tsv" else (f"'{path}' is separated by {named}.",)
    return Opened(frame, notes=notes)


def _parquet(path: Path) -> Opened:
    import pandas as pd

    return Opened(_frame(path, lambda: pd.read_parquet(path)))


def _frame(path: Path, read: Callable[[], Any]) -> Any:
    try:
        frame = read()
    except UnicodeDecodeError as error:
        raise SpecError(f"'{path}' {OTHER_TEXT}") from error
    except ImportError as error:
        raise SpecError(f"'{path}' needs pyarrow to be read: install it, with pip install pyarrow.") from error
    except Exception as error:  # pandas and pyarrow have errors of their own
        kind = path.suffix.lower().removeprefix(".").upper()
        raise SpecError(f"'{path}' is no readable {kind} file: {one_line(error)}. It may be cut off.") from error
    if frame.empty:
        raise SpecError(
            f"'{path}' is a table of {counted(len(frame), 'row')} and {counted(frame.shape[1], 'column')}: give one "
            "with rows."
        )
    return frame


def _texts(path: Path) -> Opened:
    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise SpecError(f"'{path}' {OTHER_TEXT}") from error
    return Opened([line for line in lines if line.strip()], notes=(f"Every line of '{path}' is a text.",))


def _arrays(path: str, label: str | None, reading: Reading) -> Opened:
    """Rows ``x`` an only array, or inputs by name; labels ``y`` or as named; the same for a reference."""
    _, names = read_arrays(path, (), ROWS)
    if label is not None and label not in names:
        raise SpecError(f"'{path}' has no array '{label}'.{suggest(label, names)} It has {listed(names)}.")
    label = label or (LABEL if LABEL in names else None)
    kept = [name for name in names if name != label and not name.startswith(REFERENCE)]
    inputs = [name for name in kept if name in reading.inputs] if len(reading.inputs) > 1 else []
    rows = inputs or ([ROWS] if ROWS in kept else kept)
    if not rows:
        raise SpecError(f"'{path}' has {listed(names) or 'nothing'}, and no rows: name their array '{ROWS}'.")
    wanted = [*rows, *([label] if label else [])]
    found, _ = read_arrays(path, [*wanted, *(f"{REFERENCE}{name}" for name in (*wanted, LABEL))], ROWS)
    single = len(rows) == 1
    beside = {name.removeprefix(REFERENCE): array for name, array in found.items() if name.startswith(REFERENCE)}
    note = () if rows == [ROWS] else (f"Rows are {listed(rows)} of '{path}'.",)
    return Opened(
        _one_or_all(found, rows, single),
        None if label is None else found[label],
        label,
        reference=_one_or_all(beside, rows, single) if all(name in beside for name in rows) else None,
        reference_label=beside.get(label or LABEL),
        notes=note,
    )


def _one_or_all(arrays: Mapping[str, NDArray[Any]], names: list[str], single: bool) -> Any:
    return arrays[names[0]] if single else {name: arrays[name] for name in names}


def _folder(path: Path, limit: int) -> Opened:
    """Images, one of every class, then another one; those of a folder without sub-folders have no class."""
    files = ImageFiles(str(path))
    names = files.without_class
    if not names and not any(not entry.name.startswith(".") for entry in path.iterdir()):
        raise SpecError(
            f"the folder '{path}' is empty: give one of images, or with a sub-folder of images for each class."
        )
    strange = [name for name in names if Path(name).suffix.lower() not in IMAGES]
    if strange and len(strange) == len(names):
        raise SpecError(f"the folder '{path}' has no images, only files such as '{strange[0]}': give one of its files.")
    by_class = {0: names} if names else files.by_class
    pairs = sorted((place, label, name) for label, group in by_class.items() for place, name in enumerate(group))
    if not pairs:
        raise SpecError(f"the sub-folders of '{path}' have no images.")
    taken = pairs[:limit]
    of_all = f"the first {len(taken):,} of {len(pairs):,}" if len(taken) < len(pairs) else f"all {len(pairs):,}"
    more = " More are read with a larger limit." if len(taken) < len(pairs) else ""
    classes = "without classes" if names else f"of {counted(len(by_class), 'class')}".replace("classs", "classes")
    return Opened(
        Photos(files, tuple(name for _, _, name in taken)),
        None if names else np.array([label for _, label, _ in taken]),
        classes=() if names else files.classes,
        notes=(f"'{path}': {of_all} images {classes} are read.{more}",),
    )
