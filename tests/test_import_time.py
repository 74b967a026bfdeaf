"""What starts quickly stays so: listing, planning, storing, reporting and the driver of a run import no torch and no
scipy.stats; listing also no models of study files, which pydantic builds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import assay

SRC = Path(assay.__path__[0])
HEAVY = ("torch", "captum", "sklearn", "scipy.special", "scipy.stats")
DRIVER = tuple(name for name in HEAVY if name != "scipy.special")  # which compares the methods of a finished run
LIGHT = ("studies", "engine/store", "stats", "report")
STUDY = """
environments = ["color_count(side=32)"]
samples = 2
methods = ["input_x_gradient", "random_map"]
metrics = ["f1", "insertion"]
"""

COMMAND = """
import json, runpy, sys
code = 0
try:
    runpy.run_module("assay.cli.main", run_name="__main__")
except SystemExit as stop:
    code = stop.code
print(json.dumps([code or 0, sorted(sys.modules)]), file=sys.stderr)
"""
IMPORTS = """
import importlib, json, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
print(json.dumps([0, sorted(sys.modules)]), file=sys.stderr)
"""


def loaded(code: str, *arguments: str, heavy: tuple[str, ...] = HEAVY, expected: int = 0) -> list[str]:
    """The heavy modules that a fresh interpreter has at the end."""
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=120)
    status, modules = json.loads(done.stderr.strip().splitlines()[-1])
    assert status == expected, done.stderr
    return [name for name in heavy if name in modules]


def modules(package: str) -> list[str]:
    files = sorted((SRC / package).rglob("*.py"))
    assert files, f"assay has no folder {package}"
    return [".".join(("assay", *path.relative_to(SRC).with_suffix("").parts)) for path in files]


@pytest.mark.parametrize("arguments", [("--help",), ("ls",), ("ls", "methods", "--json")], ids=" ".join)
def test_a_command_that_only_reads_imports_no_torch(arguments: tuple[str, ...]) -> None:
    assert loaded(COMMAND, *arguments, heavy=(*HEAVY, "assay.studies.form")) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "dmeo"),
        ("run", "demo", "--seeds", "one"),
        ("show", "nmae"),
        ("check", "gradiant"),
        ("evaluate", "--model", "absent:net", "--data", __file__),
        ("evaluate", "--model", "absent:net", "--data", "absent.npz"),
        ("evaluate", "--model", "absent:net", "--data", __file__, "--method", "gradiant"),
        ("evaluate", "--model", "absent:net", "--data", __file__, "--metric", "deletoin"),
        ("evaluate", "--model", "absent:net", "--data", __file__, "--method", "gradient(steps=3)"),
        ("evaluate", "--model", "absent:net", "--data", __file__, "--budget", "soon"),
        ("evaluate", "--model", "absent:net", "--data", __file__, "--seeds", "one"),
    ],
    ids=lambda arguments: " ".join(arguments).replace(__file__, "file"),
)
def test_a_mistake_is_told_before_torch_is_imported(arguments: tuple[str, ...]) -> None:
    assert loaded(COMMAND, *arguments, expected=2) == []


@pytest.mark.parametrize("package", LIGHT)
def test_a_package_that_only_handles_data_imports_no_torch(package: str) -> None:
    assert loaded(IMPORTS, *modules(package)) == []


def test_only_worker_processes_of_a_run_import_torch(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(STUDY)
    run = ("run", str(study), "--store", str(tmp_path / "store"), "--workers", "1")
    assert loaded(COMMAND, *run, "--dry-run", heavy=DRIVER) == []  # measures in a worker
    assert loaded(COMMAND, *run, heavy=DRIVER) == []
    assert loaded(COMMAND, *run, "--workers", "0", heavy=DRIVER) == []  # finds everything complete
    assert "torch" in loaded(COMMAND, *run, "--workers", "0", "--seeds", "1", heavy=DRIVER)


def test_the_package_itself_imports_no_torch() -> None:
    assert loaded(IMPORTS, "assay") == []


def test_torch_would_be_seen() -> None:
    assert "torch" in loaded(IMPORTS, "assay.core.query")
    assert loaded(IMPORTS, "assay.studies.file", heavy=("assay.studies.form",))


def test_following_a_pass_through_a_model_imports_no_compiler() -> None:
    code = """
import sys, torch
from assay.core.footprint import footprint
footprint(torch.nn.Linear(2, 2), torch.ones(1, 2))
sys.exit("torch._dynamo" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=120).returncode == 0
