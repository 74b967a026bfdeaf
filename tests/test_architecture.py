"""The house style, where a linter does not see it: names, sizes, empty packages, and what is never called."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import assay

SRC = Path(assay.__path__[0])
FILES = sorted(SRC.rglob("*.py"))
COMPONENTS = [path for kind in ("environments", "methods", "metrics") for path in (SRC / kind).glob("[!_]*.py")]
VAGUE = {"base", "manager", "helper", "handler", "util", "utility", "wrapper", "impl", "config"}
PICKLES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
GLOBAL_SEEDS = {"manual_seed", "manual_seed_all", "seed", "seed_all"}
RANDOM_MODULES = re.compile(r"(torch|np|numpy|random)(\.\w+)*")
MOST_LINES = 250
MOST_FUNCTION_LINES = 50
LONG_FUNCTIONS: set[str] = set()  # "folder/file.py:name", for what really reads better in one piece

every_file = pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SRC)))


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def words(name: str) -> set[str]:
    """``BaseMethods`` and ``base_methods`` -> base, method."""
    parts = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", name)
    return {re.sub(r"s$", "", part.lower()) for part in parts} | {part.lower() for part in parts}


def vague(path: Path) -> list[str]:
    classes = [node.name for node in ast.walk(tree(path)) if isinstance(node, ast.ClassDef)]
    folders = path.relative_to(SRC).with_suffix("").parts
    return [name for name in (*folders, *classes) if words(name) & VAGUE]


def long_functions(path: Path) -> list[str]:
    nodes = [node for node in ast.walk(tree(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    long = [node.name for node in nodes if (node.end_lineno or 0) - node.lineno + 1 > MOST_FUNCTION_LINES]
    return [name for name in long if f"{path.relative_to(SRC)}:{name}" not in LONG_FUNCTIONS]


def forbidden(path: Path) -> Iterator[str]:
    """Calls and imports that have no place here: pickles run code, global seeds reach into other people's work."""
    for node in ast.walk(tree(path)):
        match node:
            case ast.Import(names=names):
                yield from (f"import {name.name}" for name in names if name.name.partition(".")[0] in PICKLES)
            case ast.ImportFrom(module=str(module)) if module.partition(".")[0] in PICKLES:
                yield f"from {module} import"
            case ast.Call(func=ast.Attribute(attr="load", value=ast.Name(id="torch")), keywords=given):
                if "weights_only=True" not in map(ast.unparse, given):
                    yield "torch.load"
            case ast.Call(func=ast.Attribute(attr=attr, value=owner)) if attr in GLOBAL_SEEDS:
                if RANDOM_MODULES.fullmatch(ast.unparse(owner)):
                    yield f"{ast.unparse(owner)}.{attr}"
            case ast.keyword(arg="allow_pickle", value=ast.Constant(value=True)):
                yield "allow_pickle=True"


@every_file
def test_names_say_what_things_are(path: Path) -> None:
    assert not vague(path)


@every_file
def test_a_file_fits_a_few_screens(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


@every_file
def test_a_function_fits_a_screen(path: Path) -> None:
    assert not long_functions(path)


@every_file
def test_nothing_is_unpickled_and_no_global_seed_is_set(path: Path) -> None:
    assert not list(forbidden(path))


@every_file
def test_a_module_says_what_it_is_and_a_package_is_empty(path: Path) -> None:
    if path.name == "__init__.py" and path.parent != SRC:
        assert not path.read_text(encoding="utf-8").strip()
    else:
        assert ast.get_docstring(tree(path))


@pytest.mark.parametrize("path", COMPONENTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_file_holds_one_component(path: Path) -> None:
    wanted = "sample" if path.parent.name == "environments" else "__call__"
    classes = [node for node in tree(path).body if isinstance(node, ast.ClassDef)]
    found = [node.name for node in classes if wanted in {getattr(item, "name", "") for item in node.body}]
    assert len(found) == 1


def test_every_folder_with_code_is_a_package() -> None:
    assert not [path.parent for path in FILES if not (path.parent / "__init__.py").is_file()]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import torch\ntorch.manual_seed(0)", ["torch.manual_seed"]),
        ("torch.cuda.manual_seed_all(0)", ["torch.cuda.manual_seed_all"]),
        ("np.random.seed(0)", ["np.random.seed"]),
        ("torch.Generator().manual_seed(0)\nGenerator().manual_seed(seed_of(1))", []),
        ("from pickle import loads", ["from pickle import"]),
        ("model = torch.load(path)", ["torch.load"]),
        ("model = torch.load(path, weights_only=False)", ["torch.load"]),
        ("model = torch.load(path, weights_only=True)", []),
        ("np.load(path, allow_pickle=True)", ["allow_pickle=True"]),
    ],
)
def test_the_rules_bite(tmp_path: Path, source: str, found: list[str]) -> None:
    (tmp_path / "wrong.py").write_text(source)
    assert list(forbidden(tmp_path / "wrong.py")) == found


def test_vague_names_are_seen_as_words() -> None:
    assert words("BaseMethods") >= {"base", "method"}
    assert words("run_utils") & VAGUE == {"util"}
    assert not words("Baseline") & VAGUE
