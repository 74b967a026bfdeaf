"""The recipes in CONTRIBUTING.md work as printed, and what it and the examples show passes ``assay check``."""

import ast
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch
from torch import nn

import assay
from assay.check.instruments.process_state import streams
from assay.check.target import check
from assay.cli.kind_of import kind_of
from assay.core.spec import Spec
from assay.studies.file import read
from contracts.mutants import mutant

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPE = re.compile(r"^## Add an? \w+: `src/assay/\w+/(\w+)\.py`$.*?^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RECIPES = dict(RECIPE.findall(TEXT))
STEPS = [textwrap.dedent(code) for code in re.findall(r"^   ```python\n(.*?)^   ```$", TEXT, re.MULTILINE | re.DOTALL)]
EXAMPLES = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "examples").rglob("*.py")}


def components(modules):
    """``module:attr`` of the classes and functions at the top of modules; tests are none."""
    parts = [(name, part) for name, code in modules.items() for part in ast.parse(code).body]
    named = [(name, part.name) for name, part in parts if isinstance(part, ast.ClassDef | ast.FunctionDef)]
    return [f"{module}:{name}" for module, name in named if not name.startswith(("_", "test_"))]


SHOWN = components(RECIPES) + components(EXAMPLES)


@pytest.fixture
def here(tmp_path, monkeypatch):
    for name, code in (RECIPES | EXAMPLES).items():
        (tmp_path / f"{name}.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_the_three_recipes_run_together_in_a_study(here, finish):
    assert set(RECIPES) == {"centred_gradient", "peak_hit", "coin_rows"}
    study = read(
        {
            "environments": ["coin_rows:CoinRows"],
            "methods": ["centred_gradient:CentredGradient(weight=0.5)", "input_x_gradient"],
            "metrics": ["peak_hit:PeakHit", "f1"],
            "samples": 8,
        },
        "recipes",
    )
    before = streams()
    scores = [row for row in finish(study, here / "s") if row["kind"] == "score"]
    assert len(scores) == 4
    assert all(row["status"] == "ok" for row in scores)
    assert max(row["data"]["value"] for row in scores) == 1.0
    assert streams() == before  # though nn.Linear draws


@pytest.mark.parametrize("how", [("format", "--check"), ("check", "--ignore", "I001")])  # I001: which modules are ours
def test_the_recipes_are_in_the_style_that_make_check_wants(here, how):
    files = [here / f"{name}.py" for name in RECIPES]
    call = [sys.executable, "-m", "ruff", *how, "--no-cache", "--config", ROOT / "pyproject.toml", *files]
    done = subprocess.run(list(map(str, call)), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_printed_check_of_a_metric_rejects_the_printed_wrong_versions(tmp_path, monkeypatch):
    names = {}
    for code in STEPS:
        exec(code, names)
    file = tmp_path / "assay" / "metrics" / "peak_hit.py"
    file.parent.mkdir(parents=True)
    file.write_text(RECIPES["peak_hit"])
    monkeypatch.setattr(mutant, "SOURCE", tmp_path)

    def made(tree):
        module = {"__name__": "peak_hit"}
        exec(compile(tree, "peak_hit", "exec"), module)
        return module["PeakHit"]

    names["check_peak_hit"](made(ast.parse(RECIPES["peak_hit"])))
    assert len(names["MUTANTS"]) == 3
    for wrong in names["MUTANTS"]:
        with pytest.raises(AssertionError):
            names["check_peak_hit"](made(mutant.changed(wrong)))


def test_an_environment_that_makes_layers_leaves_the_streams_of_a_notebook_alone(here):
    before = streams()
    assert assay.attribute("coin_rows:CoinRows", "input_x_gradient", n=4).score("f1").value == 1.0
    assert streams() == before


class Blind(nn.Module):
    def forward(self, x):
        return x.detach() @ torch.ones(6, 3)


def no_good(model, inputs, targets):
    raise assay.NotApplicable("needs an image")


def test_a_plain_function_that_does_not_apply_is_skipped(here):
    found = assay.evaluate(Blind(), torch.ones(2, 6), methods=["my_pkg:plain", no_good], metrics=["deletion"])
    assert [(cell.status, cell.reason) for cell in found.cells] == [
        ("skipped", "needs gradients, and this model has none"),
        ("skipped", "needs an image"),
    ]


def test_the_components_are_found():
    recipes = {"centred_gradient:CentredGradient", "peak_hit:PeakHit", "coin_rows:CoinRows"}
    assert set(SHOWN) == recipes | {"my_pkg:MyMethod", "my_pkg:plain"}


@pytest.mark.parametrize("target", SHOWN)
def test_what_is_shown_to_newcomers_passes_the_check(here, target):
    spec = Spec.parse(target)
    verdicts = list(check(kind_of(spec), spec))
    assert [str(fault) for verdict in verdicts for fault in verdict.faults] == []
    assert not all(verdict.reason for verdict in verdicts)
