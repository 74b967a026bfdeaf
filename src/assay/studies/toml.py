"""A study file as a table: TOML, within the limits of ``studies/limits.py``."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from assay.core.errors import AssayError, StudyError
from assay.studies.limits import LONGEST_FILE, has_long_key


def read_toml(path: Path) -> dict[str, Any]:
    """The table of a study file; AssayError says why there is none."""
    try:
        with path.open("rb") as file:
            data = file.read(LONGEST_FILE + 1)
        if len(data) > LONGEST_FILE:
            raise AssayError(f"{path} is no study file: one has at most {LONGEST_FILE} bytes.")
        text = data.decode()
    except UnicodeDecodeError as error:
        raise AssayError(f"cannot read study file {path}: it is not UTF-8 text ({error.reason}).") from None
    except OSError as error:
        raise AssayError(f"cannot read study file {path}: {error}") from None
    return _parse(text, str(path))


def _parse(text: str, source: str) -> dict[str, Any]:
    try:
        if has_long_key(text):
            raise RecursionError
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        problem = f"not valid TOML: {error}"
    except RecursionError:
        problem = "tables, lists or keys are nested too deeply"
    except ValueError:  # Python reads no whole number of more than 4,300 digits
        problem = "a whole number is too large"
    raise StudyError(source, [problem])
