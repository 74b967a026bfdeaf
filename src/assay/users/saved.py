"""Reads a saved estimator from a file. A pickle runs code as it is read, so it is read only if it is trusted."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from assay.core.errors import SpecError
from assay.foreign.inputs import one_line

PICKLES = (".joblib", ".pkl", ".pickle")
BOOSTERS = {".json": "xgboost", ".ubj": "xgboost", ".txt": "lightgbm"}  # data only


def is_saved_model(path: str) -> bool:
    """Whether a file's name is that of a saved estimator."""
    return Path(path).suffix.lower() in (*PICKLES, *BOOSTERS)


def load_saved(path: str, *, trusted: bool = False) -> Any:
    """The estimator in a file of joblib or pickle, if ``trusted``; the Booster in XGBoost's .json or .ubj or LightGBM's
    .txt, which hold data only."""
    suffix = Path(path).suffix.lower()
    if not is_saved_model(path):
        raise SpecError(f"'{path}' is no saved estimator: write {', '.join((*PICKLES, *BOOSTERS))}, or module:attr.")
    if not Path(path).is_file():
        raise SpecError(f"there is no file '{path}'.")
    if suffix in PICKLES and not trusted:
        raise SpecError(
            f"'{path}' is a pickle. Loading it runs whatever code it holds, with your rights: whoever made the file, "
            f"or could change it, decides what runs. If you trust it, say so with --trust {path}. If you do not, ask "
            "for a file that holds data only: XGBoost's .json or .ubj, LightGBM's .txt, weights as .safetensors."
        )
    try:
        return _unpickled(path) if suffix in PICKLES else _booster(path, BOOSTERS[suffix])
    except ModuleNotFoundError as error:
        raise SpecError(f"'{path}' needs '{error.name}', which cannot be imported here.") from error
    except Exception as error:  # of any package
        raise SpecError(f"cannot read '{path}': {one_line(error)}.") from error


def _unpickled(path: str) -> Any:
    import joblib  # type: ignore[import-untyped]  # imported here: only what is trusted gets so far

    return joblib.load(path)


def _booster(path: str, package: str) -> Any:
    library = import_module(package)
    if package == "lightgbm":
        return library.Booster(model_file=path)
    found = library.Booster()
    found.load_model(path)
    return found
