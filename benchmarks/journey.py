"""How many source files one question leads through: the files of the package whose functions run.

Three journeys on tiny instances, each made twice so that caches are warm; the second time is counted. Then the lines of
the rooms that they lead through. ``make journey`` prints the counts; with ``--json``, the names.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import torch

import assay
from assay.cli.options import RunOptions
from assay.cli.run import execute
from assay.core.machine import Resources
from assay.studies.file import read

ROOT = Path(assay.__path__[0])
ROOMS = (
    "core",
    "catalogue",
    "foreign",
    "engine/execute",
    "engine/artifacts",
    "studies",
    "api.py",
    "own_model.py",
    "evaluation.py",
    "attributed.py",
)
METHOD, METRIC = "input_x_gradient", "single_deletion"


def evaluate(_: int) -> None:
    assay.evaluate(torch.nn.Linear(4, 3), torch.ones(2, 4), methods=[METHOD], metrics=[METRIC])


def run(attempt: int) -> None:
    environment = {"use": "own", "samples": 2, "block": 2}
    study = read({"environments": [environment], "methods": [METHOD], "metrics": [METRIC], "gallery": 0}, "one", "one")
    with tempfile.TemporaryDirectory() as folder:
        execute(study, Path(folder) / str(attempt), Resources(), RunOptions())


def attribute_and_score(_: int) -> None:
    assay.attribute("own", METHOD, n=2).score(METRIC)


def files(journey: Callable[[int], None]) -> list[str]:
    """Source files of the package whose functions run, the second time."""
    seen: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            seen.add(frame.f_code.co_filename)

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        journey(0)
        sys.setprofile(note)
        try:
            journey(1)
        finally:
            sys.setprofile(None)
    return sorted(Path(name).relative_to(ROOT).as_posix() for name in seen if Path(name).is_relative_to(ROOT))


def lines(room: str) -> int:
    path = ROOT / room
    found = [path] if path.is_file() else sorted(path.glob("*.py"))
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in found)


def main(arguments: Sequence[str]) -> None:
    found = {name: files(journey) for name, journey in JOURNEYS.items()}
    counted = {room: lines(room) for room in ROOMS if (ROOT / room).exists()}
    if "--json" in arguments:
        print(json.dumps({"files": found, "lines": counted}, indent=1))
        return
    for name, names in found.items():
        print(f"{name}: {len(names)} files")
    print("lines:", ", ".join(f"{room} {count:,}" for room, count in counted.items()), f"= {sum(counted.values()):,}")


JOURNEYS = {
    "assay.evaluate(...)": evaluate,
    "assay run (one cell)": run,
    "attribute(...).score(...)": attribute_and_score,
}

if __name__ == "__main__":
    main(sys.argv[1:])
